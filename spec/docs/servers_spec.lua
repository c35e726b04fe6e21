-- SPDX-License-Identifier: MIT
--- The blocks for the operators of servers, as docs/secure.md shows them, on real servers. #once

local classpath = require "spec.support.classpath"
local file = require "spec.support.file"
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local markdown = require "spec.support.markdown"
local process = require "spec.support.process"
local server = require "spec.support.server"
local uv = require "luv"

local PATIENCE = require("spec.support.wait").PATIENCE

local page = markdown.read "docs/secure.md"

--- Runs a block of sh in a folder; what it printed.
local function run(text, at)
  local shell = process.spawn { "sh", "-ec", text, cwd = at,
    env = { PATH = at .. ":" .. os.getenv("PATH"), HOME = at, LUA_INIT = false, LD_PRELOAD = false } }
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
    local config = {}
    for name, value in page:below("2. The servers")[1].text:gmatch("([%w.]+)=(%S+)") do
      config[name] = not name:find("^server%.%d") and value:gsub("^/etc/zookeeper/tls", at) or nil
    end
    assert.equal("need", config["ssl.clientAuth"])
    config.dataDir, config["4lw.commands.whitelist"] = nil, nil -- the specs' own
    config.secureClientPortAddress, config.secureClientPort = "127.0.0.1", require("spec.support.port").free()
    zk = server.start { config = config }
    return "127.0.0.1:" .. config.secureClientPort
  end

  it("make a server that answers clients with a certificate of its authority, and nobody else", function()
    local hosts = start_as_shown()
    local ask, count = page:below("2. The servers")[2].text:gsub("zk1:2281", hosts)
    assert.equal(1, count)
    local _, answer, why = run(ask, at)
    assert.equal("imok", answer, why)
    local stranger, changes = ask:gsub("%-cert shop%.crt %-key shop%.key", "")
    assert.equal(1, changes)
    assert.equal("", (select(2, run(stranger .. " || true", at))))
  end)

  it("close the root to the application, and give it a directory with a quota", function()
    local hosts = start_as_shown()
    provide_cli()
    local block, count = page:below("3. The tree")[1].text:gsub("zk1:2281", hosts)
    assert.equal(1, count)
    local code, out, err = run(block, at)
    assert.equal(0, code, out .. err)
    assert.matches("'x509,'CN=operator\n: cdrwa\n", out)
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
end)
