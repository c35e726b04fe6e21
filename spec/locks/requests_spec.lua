-- SPDX-License-Identifier: MIT
--- Requests for a mutex, which do not wait but call back.

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("a mutex", function()
  local here = fixture.new("/requests")
  local tree, client, other, path

  setup(function() tree, client, other = here.tree, here:connect(), here:second_process() end)

  before_each(function() path = here.path end)

  --- The other process holds the lock.
  local function taken(at) return assert(other:acquire(at or path, PATIENCE)) end

  describe("request()", function()
    it("answers through poll only, once, with the token", function()
      local lock, list, callback = client:mutex(path), here.answers()
      local request = lock:request(PATIENCE, callback)
      assert.equal("waiting", request:state())
      assert.is_nil(request:token())
      here:becomes(1)
      assert.same({}, list)
      here:eventually(function() return #list > 0 end, "the answer")
      assert.equal("held", request:state())
      assert.same({ { request:token() } }, list)
      assert.is_true(request:is_held())
      assert.is_true(request:validity() > 0)
      assert.equal(tree:exists(path .. "/" .. here:nodes()[1]).czxid, request:token())
      assert.is_true(request:release())
      assert.equal("released", request:state())
      assert.is_nil(request:token())
      assert.is_false(request:is_held())
      assert.equal(0, request:validity())
      assert.same({ nil, "not owner" }, { request:release() })
      client:flush(PATIENCE)
      client:poll()
      assert.equal(1, #list)
      here:becomes(0)
    end)

    it("gives its callback the reason when no server is in reach, behind the request", function()
      local nowhere = here:connect_to("127.0.0.1:1", { connect_timeout = 0 })
      wait.eventually(function() return select(3, nowhere:mutex(path):acquire(0.01)) ~= nil end, PATIENCE)
      local heard, callback = here.notes()
      local request = nowhere:mutex(path):request(0.1, callback)
      local lease = nowhere:semaphore(path .. "-leases", 1):request(0.1, callback)
      here:hear(heard, 2)
      for _, answer in ipairs(heard) do
        local is_of_lock = answer[3] == request
        assert.same({ nil, "disconnected", is_of_lock and request or lease, "connection refused: 127.0.0.1:1" }, answer)
      end
      assert.not_equal(heard[1][3], heard[2][3])
    end)

    it("gives its callback three arguments when there is no reason", function()
      local counts = {}
      local function callback(...) counts[#counts + 1] = select("#", ...) end
      client:mutex(path):request(PATIENCE, callback)
      client:mutex(path):request(0, callback)
      here:hear(counts, 2)
      assert.same({ 3, 3 }, counts)
    end)

    it("is an argument of its callback", function()
      local seen = {}
      local lock, semaphore = client:mutex(path), client:semaphore(path .. "-leases", 1)
      local function callback(got, err, request)
        seen[request] = { got ~= nil, err, request:is_held() }
      end
      local held = lock:request(PATIENCE, callback)
      local refused = lock:request(0, callback)
      local lease = semaphore:request(PATIENCE, callback)
      here:eventually(function() return seen[held] and seen[refused] and seen[lease] end, "three answers")
      assert.same({ true, nil, true }, seen[held])
      assert.same({ false, "timeout", false }, seen[refused])
      assert.same({ true, nil, true }, seen[lease])
    end)

    it("is an owner of its own", function()
      local lock, list, callback = client:mutex(path), here.answers()
      assert(lock:acquire(PATIENCE))
      local request = lock:request(0, callback)
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "timeout" } }, list)
      assert.equal("failed", request:state())
      lock:release()
      request = lock:request(PATIENCE, callback)
      here:eventually(function() return #list > 1 end)
      assert.is_false(lock:is_held())
      assert.is_true(lock:is_held(request))
      assert.equal(request:token(), lock:token(request))
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      assert.is_true(lock:release(request))
      assert.equal("released", request:state())
    end)

    it("fails with 'timeout' at its deadline, and leaves no node", function()
      local lock, list, callback = client:mutex(path), here.answers()
      taken()
      local request = lock:request(0.1, callback)
      assert.equal("waiting", request:state())
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "timeout" } }, list)
      assert.equal("failed", request:state())
      assert.same({ nil, "not owner" }, { request:release() })
      here:becomes(1)
      other:release(path)
    end)

    it("can be cancelled while it waits: its callback gets 'cancelled' from poll, and its node goes", function()
      local lock, list, callback = client:mutex(path), here.answers()
      taken()
      local request = lock:request(nil, callback)
      here:becomes(2)
      request:cancel()
      assert.same({}, list)
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "cancelled" } }, list)
      assert.equal("failed", request:state())
      request:cancel()
      client:poll()
      assert.equal(1, #list)
      here:becomes(1)
      other:release(path)
    end)

    it("that is cancelled as soon as it is made never holds", function()
      local lock, list, callback = client:mutex(path), here.answers()
      for i = 1, 20 do
        local request = lock:request(PATIENCE, callback)
        if i > 10 then wait.eventually(function() return #here:nodes() > 0 end) end -- granted, but not polled
        request:cancel()
        here:eventually(function() return #list == i end)
        if list[i][1] then
          assert.equal("held", request:state())
          assert.is_true(request:release())
        else
          assert.same({ nil, "cancelled" }, list[i])
          assert.equal("failed", request:state())
        end
        assert.is_true(client:flush(PATIENCE))
        here:becomes(0)
      end
      client:poll()
      assert.equal(20, #list)
    end)

    it("gets 'cancelled' if it is cancelled just after its deadline", function()
      taken()
      local lock, list, callback = client:mutex(path), here.answers()
      local before = client:stats().timeouts
      local request = lock:request(0.05, callback)
      wait.eventually(function() return client:stats().timeouts > before end, PATIENCE)
      assert.is_true(request:cancel())
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "cancelled" } }, list)
      assert.is_false(request:cancel())
      assert(other:release(path))
    end)

    it("keeps the lock if it is cancelled while it holds", function()
      local lock, list, callback = client:mutex(path), here.answers()
      local request = lock:request(PATIENCE, callback)
      here:eventually(function() return #list > 0 end)
      request:cancel()
      client:poll()
      assert.equal("held", request:state())
      assert.equal(1, #list)
      assert.is_true(request:release())
    end)

    it("is not collected while it waits", function()
      local lock, list, callback = client:mutex(path), here.answers()
      taken()
      lock:request(PATIENCE, callback)
      lock = nil -- luacheck: ignore 311
      here:becomes(2)
      collectgarbage()
      collectgarbage()
      client:poll()
      assert.equal(2, #here:nodes())
      other:release(path)
      here:eventually(function() return #list > 0 end)
      assert.is_number(list[1][1])
      here:eventually(function()
        collect()
        return #here:nodes() == 0
      end)
    end)

    it("releases when it is collected while it holds", function()
      local lock, list, callback = client:mutex(path), here.answers()
      local before = client:stats().abandoned
      lock:request(PATIENCE, callback)
      here:eventually(function() return #list > 0 end)
      here:eventually(function()
        collect()
        return #here:nodes() == 0
      end, "the end of a dropped request's node")
      assert.equal(1, #list)
      assert.equal(before + 1, client:stats().abandoned)
    end)

    it("is granted in order of arrival within a process", function()
      local lock, order, requests = client:mutex(path), {}, {}
      taken()
      for i = 1, 10 do
        requests[i] = lock:request(PATIENCE, function(token)
          order[#order + 1] = token and i or "?"
          requests[i]:release()
        end)
      end
      here:becomes(11)
      other:release(path)
      here:eventually(function() return #order == 10 end)
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, order)
      here:becomes(0)
    end)
  end)
end)
