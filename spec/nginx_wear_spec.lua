--- What many requests use up in a worker of nginx: nothing.

local inspector = require "spec.support.inspector"
local nginx = require "spec.support.nginx"
local server = require "spec.support.server"

if not nginx.is_testable() then
  describe("a worker of nginx that has served many", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

describe("a worker of nginx that has served many", function()
  local zk, tree, web

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
  end)

  after_each(function()
    if web then web:stop() end
    web = nil
  end)

  teardown(function()
    tree:delete_tree("/nginx-wear")
    tree:close()
  end)

  it("has as many C types as before: LuaJIT has room for 65,536", function()
    web = nginx.start { workers = 1, http = nginx.CLIENT, values = { hosts = zk.hosts }, server = [[
      location / { content_by_lua_block {
        local lock = client:mutex("/nginx-wear/types")
        if ngx.var.args == "timer" then
          assert(ngx.timer.at(0, function() lock:acquire(20) end))
        end
        assert(lock:acquire(20))
        client:semaphore("/nginx-wear/semaphore", 1):request(20, function(lease) lease:release() end)
      } }
      # The number of a type that is made now.
      location /types { content_by_lua_block {
        local ffi = require "ffi"
        ngx.say(tonumber(ffi.typeof("struct { int newest; }")))
      } }
    ]] }
    local function types() return tonumber((select(2, web:get("/types")))) end
    local function serve(count, way)
      local calls = {}
      for i = 1, count do
        calls[i] = web:begin("/" .. way)
        if i > 20 then assert.equal(200, (calls[i - 20]:finish())) end
      end
      for i = math.max(1, count - 19), count do assert.equal(200, (calls[i]:finish())) end
    end
    serve(20, "?timer")
    types() -- which loads what it takes
    local before = types()
    local one = types() - before
    serve(900, "")
    serve(100, "?timer")
    assert.equal(2 * one, types() - before)
    assert.same({}, web:errors())
  end)
end)
