-- SPDX-License-Identifier: MIT
--- nginx with strict globals: to read one that is not there raises, and so does to make one.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"

if not nginx.is_testable() then
  describe("inside nginx, under strict globals", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

describe("inside nginx, under strict globals", function()
  local here = fixture.new("/nginx-strict")

  it("requests, callbacks and timers take locks", function()
    local web = here:nginx {
      http = [[
        lua_shared_dict counts 1m;
        init_by_lua_block {
          require "resty.core" -- other people's modules are not tried here
          require "ngx.semaphore"
          client, zklock = false, false -- what the blocks here have as globals
          setmetatable(_G, {
            __index = function(_, name) error("a read of the global '" .. tostring(name) .. "'", 2) end,
            __newindex = function(_, name) error("a new global '" .. tostring(name) .. "'", 2) end,
          })
        }
        init_worker_by_lua_block {
          zklock = require "zklock"
          client = assert(zklock.connect("@hosts@"))
        }
      ]],
      server = [[
        location / { content_by_lua_block {
          local lock, answers = client:mutex("@path@"), {}
          local done = require("ngx.semaphore").new(0)
          assert(lock:acquire(60))
          assert(lock:acquire(60) and lock:release() and lock:release())
          local guard = assert(lock:guard(20))
          assert(guard:release())
          lock:request(60, function(token, err, request)
            answers[1] = token and request:release() or err
            done:post(1)
          end)
          assert(done:wait(20))
          client:spawn(function()
            answers[2] = lock:with(60, function() return true end)
            done:post(1)
          end)
          assert(done:wait(20))
          assert(ngx.timer.at(0, function()
            answers[3] = lock:acquire(60) and lock:release()
            done:post(1)
          end))
          assert(done:wait(20))
          local lease = assert(client:semaphore("@path@/pool", 2):acquire(60))
          assert(lease:release() and client:mutex("@path@/thread", { owner = "thread" }):acquire(60))
          assert(client:create("@path@/node", "1", nil, 20) and client:get("@path@/node", 20) == "1")
          ngx.say(tostring(answers[1]), " ", tostring(answers[2]), " ", tostring(answers[3]))
        } }
      ]],
    }
    for _ = 1, 3 do
      assert.same({ 200, "true true true\n" }, { web:get("/") })
      here.tree:delete_tree(here.path .. "/node")
    end
    assert.same({}, web:errors())
  end)
end)
