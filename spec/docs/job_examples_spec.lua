-- SPDX-License-Identifier: MIT
--- examples/jobs do what they say.

local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local nginx = require "spec.support.nginx"
local port = require "spec.support.port"
local uv = require "luv"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("of the examples with jobs", function()
  local here = fixture.new("/shop")
  local env

  setup(function() env = { ZOOKEEPER = here.zk.hosts, LUA_PATH = package.path } end)
  before_each(function()
    here.tree:delete_tree("/shop")
    here.tree:delete_tree("/cron")
  end)

  local function start(script, ...)
    local child = wait.spawn_lua("examples/jobs/" .. script, { ... }, { env = env })
    return here:closes(child, child.kill)
  end

  --- Waits until one of them has said it; gives that one and the other.
  local function said(children, text)
    return wait.eventually(function()
      for i, one in ipairs(children) do
        assert(one:is_running(), one:stderr())
        if one:stdout():find(text, 1, true) then return one, children[3 - i] end
      end
    end, PATIENCE, text)
  end

  it("the late write of a leader that was stopped is refused #once #bare", function()
    local children = { start("leader.lua", 1), start("leader.lua", 1) }
    local first, second = said(children, "written\n")
    assert.equal("", second:stdout())
    local former, _, working = 0, nil, nil
    wait.eventually(function() -- as it begins to work
      _, working = first:stdout():gsub("working from", "")
      former = former == 0 and working or former
      return working > former
    end, PATIENCE)
    first:stop()
    local upto = #first:stdout()
    said({ second }, "written\n") -- the other one leads, and goes on from what was written
    first:continue()
    wait.eventually(function() return first:stdout():find("no leader any more: lost\n", upto, true) end, PATIENCE)
    local failed = first:stdout():match("failed: (%l+)\n", upto)
    assert.is_true(failed == "lost" or failed == "unknown", first:stdout())
    local _, writes = (first:stdout() .. second:stdout()):gsub("written\n", "")
    wait.eventually(function() return tonumber((here.tree:get("/shop/ledger"))) >= writes end, PATIENCE)
    assert.equal(here.tree:exists("/shop/ledger").version, tonumber((here.tree:get("/shop/ledger")))) -- none got lost
  end)

  it("a cron without a crond starts each command on one of two machines #once #bare", function()
    local out = folder.file("out", "")
    local tab = folder.file("table", ("# comment\n\n3600 report echo report $ZKLOCK_TOKEN >>%s\n"
      .. "0.3 often echo often $ZKLOCK_TOKEN >>%s\n3600 bad exit 3\n"):format(out, out))
    local children = { start("cron.lua", tab), start("cron.lua", tab) }
    local function count(word) return select(2, file.read(out):gsub(word .. " %d+\n", "")) end
    wait.eventually(function() return count("often") >= 6 and count("report") > 0 end, PATIENCE, "the commands")
    assert.equal(1, count("report"))
    wait.eventually(function()
      return (children[1]:stderr() .. children[2]:stderr()):find("bad: the command failed", 1, true)
    end, PATIENCE, "what on_error is told")
    for _, one in ipairs(children) do assert.is_true(one:is_running()) end
    assert.equal(1, count("report"))
  end)

  it("a cron without a crond refuses a table that it does not understand #once", function()
    for _, seconds in ipairs { "hourly", "1.2.3", "." } do
      local line = seconds .. " report ./report"
      local child = start("cron.lua", folder.file("table", line .. "\n"))
      assert.equal(1, (child:wait(PATIENCE)))
      assert.truthy(child:stderr():find(": not understood: " .. line .. "\n", 1, true), child:stderr())
    end
  end)

  describe("nginx", function()
    if not nginx.is_testable() then return end

    --- A machine: nginx with the example.
    local function machine()
      local prefix, number = folder.new("prices"), port.free()
      assert(uv.fs_mkdir(prefix .. "/prices", 448)) -- 0700
      file.write(prefix .. "/upstream.lua", file.read("examples/jobs/upstream.lua"))
      local conf, changed = file.read("examples/jobs/nginx.conf"):gsub("127%.0%.0%.1:8080;",
        "127.0.0.1:" .. number .. ";")
      assert.equal(1, changed)
      conf, changed = conf:gsub('lua_package_path "%$prefix/%?.lua;;";',
        ('lua_package_path "$prefix/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;;"; lua_package_cpath "%s/?.so;;";'):format(
          nginx.tree(), nginx.tree(), nginx.build()))
      assert.equal(1, changed)
      if uv.getuid() == 0 then conf = "user root;\n" .. conf end -- our folders are ours alone
      local env_ = { ZOOKEEPER = here.zk.hosts }
      return here:closes(nginx.start { conf = conf, prefix = prefix, port = number, env = env_ }, nginx.stop)
    end

    local function latest(web)
      local status, body = web:get("/prices")
      assert.equal(200, status)
      return body:match("^worker (%d+) has asked (%d+) times\n$")
    end

    it("has one worker of all machines ask, and a dictionary on each", function()
      local webs = { machine(), machine() }
      local worker
      for _, web in ipairs(webs) do
        wait.eventually(function()
          local now, times = latest(web)
          worker = worker or now
          assert.is_true(now == nil or now == worker, "two workers ask")
          return now and tonumber(times) >= 3
        end, PATIENCE, "prices on both machines")
      end
      assert(uv.kill(tonumber(worker), "sigquit")) -- it leaves, so nobody waits for its session to time out
      for _, web in ipairs(webs) do
        wait.eventually(function()
          local now = latest(web)
          return now and now ~= worker
        end, PATIENCE, "another worker's prices")
      end
    end)
  end)
end)
