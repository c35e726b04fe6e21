-- SPDX-License-Identifier: MIT
--- The blocks of docs/secure.md as it shows them, on real servers. Those for clients need a libzookeeper that has TLS:
--- `make tls` builds one. #once

local classpath = require "spec.support.classpath"
local file = require "spec.support.file"
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local markdown = require "spec.support.markdown"
local process = require "spec.support.process"
local server = require "spec.support.server"
local uv = require "luv"
local zklock = require "zklock"

local PATIENCE = require("spec.support.wait").PATIENCE

local page = markdown.read "docs/secure.md"

--- A block of the page, with its places in the machine below a folder, and changed.
---@param changes table<string, string>? patterns, each of which is there, and what stands for them
local function shown(title, number, at, changes)
  local text = page:below(title)[number].text:gsub("/etc/%l", at .. "%0"):gsub("/var/%l", at .. "%0")
  for pattern, change in pairs(changes or {}) do
    local count
    text, count = text:gsub(pattern, change)
    assert.is_true(count > 0, pattern)
  end
  return text
end

--- Runs a block of sh in a folder; what it printed.
local function run(text, at)
  local shell = process.spawn { "sh", "-ec", text, cwd = at,
    env = { PATH = at .. ":" .. os.getenv("PATH"), HOME = at, LUA_INIT = false, LD_PRELOAD = false,
      MAKEFLAGS = false, MAKELEVEL = false } }
  shell:close_input()
  local code = shell:wait(PATIENCE)
  return code, shell:stdout(), shell:stderr()
end

describe("the blocks for operators of servers #once", function()
  local zk, at

  before_each(function() at = folder.new("operators") end)

  after_each(function()
    zk:stop()
    folder.remove(at)
  end)

  --- ZooKeeper's own tool, as its package has it: with the classes that it needs.
  local function provide_cli()
    file.write(at .. "/zkCli.sh", "#!/bin/sh\nexec java -Xmx192m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
      .. "-Dorg.slf4j.simpleLogger.defaultLogLevel=off -cp '" .. classpath .. ":/usr/share/java/commons-cli.jar' "
      .. "org.apache.zookeeper.ZooKeeperMain \"$@\"\n")
    assert(uv.fs_chmod(at .. "/zkCli.sh", 448))
  end

  it("give the root to the operator alone, and the application's directory to the application", function()
    zk = server.start()
    provide_cli()
    local block = page:below("Without certificates")[1].text
    local code, out, err = run(block:gsub("127%.0%.0%.1:2181", zk.hosts), at)
    assert.equal(0, code, out .. err)
    local identities = {}
    for name in out:gmatch("'digest,'(%w+):") do identities[#identities + 1] = name end
    assert.same({ "operator" }, identities, out)

    local shop = inspector.connect(zk.hosts)
    shop:add_auth("digest", "shop:secret")
    assert(shop:create("/shop/lock", "", {}))
    assert.is_nil((shop:create("/other", "", {})))
    assert.is_nil((shop:delete("/shop")))
    shop:delete("/shop/lock")
    assert.is_nil((shop:delete("/shop")), "the shop may not delete in the root")
    shop:close()
  end)

  --- A server with the page's certificates and configuration, as far as one server alone can have it.
  local function start_as_shown()
    local names, count = page:below("1. Certificates")[1].text:gsub("DNS:%$name", "%0,IP:127.0.0.1")
    assert.equal(1, count)
    local code, _, err = run(names, at)
    assert.equal(0, code, err)
    code, _, err = run("mkdir -p etc/zookeeper var/lib/zookeeper\n"
      .. shown("2. The servers", 1, at, { ["%-o zookeeper"] = "-o " .. uv.getuid() }), at)
    assert.equal(0, code, err)
    local config = {}
    for name, value in shown("2. The servers", 2, at):gmatch("([%w.]+)=(%S+)") do
      config[name] = not name:find("^server%.%d") and value or nil
    end
    assert.equal("need", config["ssl.clientAuth"])
    assert.equal("1\n", file.read(config.dataDir .. "/myid"))
    config.dataDir, config["4lw.commands.whitelist"] = nil, nil -- the specs' own
    config.secureClientPortAddress, config.secureClientPort = "127.0.0.1", require("spec.support.port").free()
    zk = server.start { config = config }
    return "127.0.0.1:" .. config.secureClientPort
  end

  it("make a server that answers clients with a certificate of its authority, and nobody else", function()
    local hosts = start_as_shown()
    local ask, count = page:below("2. The servers")[3].text:gsub("zk1:2281", hosts)
    assert.equal(1, count)
    local _, answer, why = run(ask, at)
    assert.equal("imok", answer, why)
    local stranger, changes = ask:gsub("%-cert shop%.crt %-key shop%.key", "")
    assert.equal(1, changes)
    assert.equal("", (select(2, run(stranger .. " || true", at))))
  end)

  --- Runs the block of the operator; gives it.
  local function close_the_root(hosts)
    provide_cli()
    local block = shown("3. The tree", 1, at, { ["zk1:2281"] = hosts })
    local code, out, err = run(block, at)
    assert.equal(0, code, out .. err)
    assert.matches("'x509,'CN=operator\n: cdrwa\n", out)
    return block
  end

  it("close the root to the application, and give it a directory with a quota", function()
    local hosts = start_as_shown()
    local block = close_the_root(hosts)
    local as_shop = assert(block:match("^(cat .-\nEND\n)")):gsub("operator", "shop")
    local function shop(line)
      local command = "%szkCli.sh -client-configuration shop.cfg -server %s <<'END' 2>&1 || true\n%s\nEND\n"
      local _, said, problem = run(command:format(as_shop, hosts, line), at)
      return said .. problem
    end
    assert.matches("Created /shop/lock", shop("create /shop/lock"))
    assert.matches("Insufficient permission : /other", shop("create /other"))
    assert.matches("countHardLimit=100000\n", shop("listquota /shop"))
    assert.matches("byteHardLimit=100000000;", shop("listquota /shop"))
  end)

  if not zklock.features.tls then return end

  --- Runs the three blocks for clients; what the commands of the last one say, a line each.
  local function set_up_client(hosts)
    local tree = uv.cwd()
    file.write(at .. "/ld.so.conf", "include " .. at .. "/etc/ld.so.conf.d/*.conf\n")
    local code, out, err = run("PATH=$PATH:/usr/sbin:/sbin; mkdir -p etc/ld.so.conf.d; cd " .. tree .. "\n"
      .. shown("4. The clients", 1, at, {
        ["^apt%-get install .-\ntools"] = "tools", ["/opt/zookeeper%-tls"] = tree .. "/build/tls",
        ["make install"] = "make -s install DESTDIR=" .. at,
        ["\nldconfig"] = ("%%0 -C %s/cache -f %s/ld.so.conf"):format(at, at) })
      .. "ldconfig -p -C " .. at .. "/cache", at)
    assert.equal(0, code, out .. err)
    assert.equal(tree .. "/build/tls/libzookeeper_mt.so.2", out:match("libzookeeper_mt%.so%.2 [^\n]*=> (%S+)"), out)
    code, out, err = run(shown("4. The clients", 2, at, { ["zk1:2281,zk2:2281,zk3:2281"] = hosts }), at)
    assert.equal(0, code, out .. err)
    local with = ("set +e; export PATH=%s/usr/local/bin:$PATH ZKLOCK_CONFIG=%s/etc/zklock.conf\n"):format(at, at)
    local patient = { ["zklock doctor"] = "%0 --connect " .. PATIENCE }
    code, out, err = run(with .. shown("4. The clients", 3, at, patient), at)
    assert.same({ 0, "" }, { code, err }, out)
    return out
  end

  it("give a client a library with TLS, and locks that are its own", function()
    local hosts = start_as_shown()
    close_the_root(hosts)
    local said = {}
    for line in set_up_client(hosts):gmatch("[^\n]+") do
      if not line:find("^ok ") then said[#said + 1] = line:match("^warning  [^:]*: [^.]*") or line end
    end
    assert.same({ "warning  ACL of /: access denied", "the lock is mine" }, said)

    local function connect(name)
      local files = { ca = at .. "/ca.pem", cert = at .. "/" .. name .. ".crt", key = at .. "/" .. name .. ".key" }
      return assert(zklock.connect(hosts, { tls = files, connect_timeout = PATIENCE, log = false }))
    end
    local shop, operator = connect "shop", connect "operator"
    assert(shop:mutex("/shop/lock"):acquire(PATIENCE))
    assert.same({ nil, "access denied" }, { operator:mutex("/shop/lock"):acquire(PATIENCE) })
    operator:close()
    shop:close()
  end)
end)
