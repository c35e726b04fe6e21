-- SPDX-License-Identifier: MIT
--- examples/nodes do what they say.

local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local nginx = require "spec.support.nginx"
local uv = require "luv"
local wait = require "spec.support.wait"

describe("of the examples with nodes", function()
  local here = fixture.new("/shop")
  local env

  setup(function() env = { ZOOKEEPER = here.zk.hosts, LUA_PATH = package.path } end)
  before_each(function() here.tree:delete_tree("/shop") end)

  local function start(script, ...) return wait.spawn_lua("examples/nodes/" .. script, { ... }, { env = env }) end

  local function run(script, ...)
    local child = start(script, ...)
    local code, signal = child:wait()
    assert.same({ code = 0, signal = 0, stderr = "" }, { code = code, signal = signal, stderr = child:stderr() })
    return child:stdout()
  end

  it("a configuration is followed by every process", function()
    local followers = { start("config.lua"), start("config.lua") }
    for _, one in ipairs(followers) do here:afterwards(function() one:kill() end) end
    local function said(text)
      for _, one in ipairs(followers) do
        wait.eventually(function() return one:stdout():find(text, 1, true), one:stderr() end, here.patience, text)
      end
    end
    said("no configuration: no node\n")
    run("config.lua", "set", "limit=20")
    said("version 0: limit 20\n")
    run("config.lua", "set", "nonsense")
    said("not understood, the former one counts: nonsense\n")
    run("config.lua", "set", "limit=30")
    said("version 2: limit 30\n")
  end)

  it("leaders come one after the other, in epochs, and no count is lost", function()
    assert.equal("leader in epoch 1\ncount 10\n", run("leader.lua"))
    local second, third = start("leader.lua", 50), start("leader.lua", 50)
    for _, one in ipairs { second, third } do
      assert.equal(0, (one:wait()), one:stderr())
    end
    assert.equal("3", (here.tree:get("/shop/epoch")))
    assert.equal("110", (here.tree:get("/shop/count")))
    assert.equal(110, here.tree:exists("/shop/count").version)
  end)

  it("jobs are moved, each once, by however many workers", function()
    assert.equal("2 done\n", run("jobs.lua", "a", "b"))
    for i = 1, 20 do assert(here.tree:create(("/shop/jobs/new/%d"):format(i), "to be done")) end
    local workers, done = { start("jobs.lua"), start("jobs.lua"), start("jobs.lua") }, 0
    for _, one in ipairs(workers) do
      assert.equal(0, (one:wait()), one:stderr())
      done = done + tonumber(one:stdout():match("^(%d+) done\n$"))
    end
    assert.equal(20, done)
    assert.equal(22, #here:nodes("/shop/jobs/done"))
    assert.same({}, here:nodes("/shop/jobs/new"))
    assert.same({}, here:nodes("/shop/jobs/running"))
  end)

  it("a configuration is followed by every worker of nginx", function()
    if not nginx.is_testable() then return end
    local prefix, port = folder.new("follow"), require("spec.support.port").free()
    assert(uv.fs_mkdir(prefix .. "/config", 448)) -- 0700
    local out = assert(io.open(prefix .. "/follow.lua", "w"))
    out:write(file.read("examples/nodes/follow.lua"))
    out:close()
    local conf, changed = file.read("examples/nodes/nginx.conf"):gsub("127%.0%.0%.1:8080;", "127.0.0.1:" .. port .. ";")
    assert.equal(1, changed)
    conf, changed = conf:gsub('lua_package_path "%$prefix/%?.lua;;";',
      ('lua_package_path "$prefix/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;;"; lua_package_cpath "%s/?.so;;";'):format(
        nginx.tree(), nginx.tree(), nginx.build()))
    assert.equal(1, changed)
    if uv.getuid() == 0 then conf = "user root;\n" .. conf end -- our folders are ours alone
    local web = here:closes(
      nginx.start { conf = conf, prefix = prefix, port = port, env = { ZOOKEEPER = here.zk.hosts } }, nginx.stop)
    assert.same({ 200, "10\n" }, { web:get("/") })
    assert.same({ 200, "set\n" }, { web:get("/set?limit=20") })
    local streak = 0 -- of answers with the new limit, by whichever worker
    here:eventually(function()
      streak = select(2, web:get("/")) == "20\n" and streak + 1 or 0
      return streak == 20
    end, "every worker to have it")
    assert.same({ 200, "set\n" }, { web:get("/set?limit=30") })
    here:eventually(function() return select(2, web:get("/")) == "30\n" end, "the next one")
    assert.same({}, web:errors())
  end)
end)
