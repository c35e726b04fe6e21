-- SPDX-License-Identifier: MIT
--- Inside nginx, an error is raised into an acquire after the grant: no call receives the hold, and it is given back.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("a hold that no call has received inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

describe("a hold that no call has received inside nginx", function()
  local here = fixture.new("/nginx_unreceived", { session_timeout = 600 })
  local other

  setup(function() other = here:second_process() end)

  --- `leave_behind` acquires, and fails after the grant. The collector cannot end the hold: the ticket is kept. Nor do
  --- calls and turns of the loop: after ten seconds those would.
  ---@param more string? code that switches off another way, too
  local function start(more)
    return here:nginx { workers = 1, http = [[
      lua_shared_dict shared 1m;
      init_worker_by_lua_block {
        client = assert(require("zklock").connect("@hosts@", { session_timeout = 600 }))
        local Hold = require "zklock.holds.hold"
        local tickets, hand_out = {}, Hold.hand_out
        function leave_behind()
          function Hold.hand_out(_, ticket)
            tickets[1] = assert(ticket)
            error("raised on purpose", 0)
          end
          local lock = client:mutex "@path@"
          local ok, err = pcall(lock.acquire, lock, 60)
          Hold.hand_out = hand_out
          return ok, err
        end
        function await(name) while not ngx.shared.shared:get(name) do ngx.sleep(0.01) end end
        function client.holds.sweep() end
        ]] .. (more or "") .. [[
      }
    ]], server = [[
      location /stay { content_by_lua_block {
        local ok, err = leave_behind()
        ngx.shared.shared:set("raised", true)
        await "go"
        ngx.say(ok, err)
      } }
      location /end { content_by_lua_block { ngx.say(leave_behind()) } }
      location /raised { content_by_lua_block { await "raised" ngx.say "raised" } }
      location /go { content_by_lua_block { ngx.shared.shared:set("go", true) ngx.say "gone" } }
      location /stats { content_by_lua_block {
        local stats = client:stats()
        ngx.say(("held %d waiting %d abandoned %d"):format(stats.held, stats.waiting, stats.abandoned))
      } }
    ]] }
  end

  local function ends_well(web)
    wait.eventually(function()
      local _, body = web:get("/stats")
      return body == "held 0 waiting 0 abandoned 1\n", body
    end, PATIENCE, "nothing held")
    assert.same({}, web:errors())
  end

  it("is given back by a timer, though its request goes on and no call is made", function()
    local web = start()
    local call = web:begin("/stay")
    assert.same({ 200, "raised\n" }, { web:get("/raised") })
    assert(other:acquire(here.path, PATIENCE))
    assert(other:release(here.path))
    web:get("/go")
    assert.same({ 200, "falseraised on purpose\n" }, { call:finish() })
    ends_well(web)
  end)

  it("is given back when its request ends, also before the timer", function()
    local web = start "function client.waits.ring_at() end"
    assert.same({ 200, "falseraised on purpose\n" }, { web:get("/end") })
    assert(other:acquire(here.path, PATIENCE))
    assert(other:release(here.path))
    ends_well(web)
  end)
end)
