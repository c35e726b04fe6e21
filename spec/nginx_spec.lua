--- Inside nginx, on a real server: requests wait without blocking their worker, and own what they hold.

local inspector = require "spec.support.inspector"
local nginx = require "spec.support.nginx"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"

if not nginx.is_testable() then
  describe("inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local SESSION = 6
local PATIENCE = 30

local HTTP = [[
  lua_shared_dict counts 1m;
  init_worker_by_lua_block {
    zklock = require "zklock"
    client = assert(zklock.connect("%s", { session_timeout = %d }))
  }
]]

describe("inside nginx", function()
  local zk, tree, other, web, path, count

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    other = worker.start()
    assert(other:connect(zk.hosts, { session_timeout = SESSION }))
    count = 0
  end)

  before_each(function()
    count = count + 1
    path = "/nginx/" .. count
  end)

  after_each(function()
    if web then web:stop() end
    web = nil
  end)

  teardown(function()
    other:close()
    other:kill()
    tree:delete_tree("/nginx")
    tree:close()
  end)

  local function start(options)
    options.http = HTTP:format(zk.hosts, SESSION) .. (options.http or "")
    options.server = (options.server or ""):gsub("@path@", path)
    web = nginx.start(options)
    return web
  end

  local function nodes() return #(tree:children(path) or {}) end
  local function become(n, patience)
    wait.eventually(function() return nodes() == n end, patience or PATIENCE, n .. " nodes")
  end

  it("a request acquires, holds and releases", function()
    start { server = [[
      location / { content_by_lua_block {
        local lock = client:mutex("@path@")
        local token = assert(lock:acquire(10))
        ngx.say(lock:is_held(), " ", lock:token() == token, " ", lock:release(), " ", lock:release())
      } }
    ]] }
    assert.same({ 200, "true true true nilnot owner\n" }, { web:get("/") })
    assert.same({}, web:errors())
  end)
end)
