-- SPDX-License-Identifier: MIT
--- How a hold ends: the actions of `Hold:finish` for each reason, in order.

local Dispatcher = require "zklock.run.dispatcher"
local Hold = require "zklock.holds.hold"
local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("the end of a hold", function()
  --- Ends a hold among objects that only record their calls. Returns the record, the hold, and what stays for its last
  --- event: a release has kept the hold before.
  local function finish(reason)
    local told = {}
    local function notes(what) return function() told[#told + 1] = what end end
    local contender = { quit = notes "quit", drop = notes "drop" }
    local client = {
      native = { contender = function() return contender end, release = function() return true end },
      dispatcher = setmetatable({ ending = { [0] = "another" }, taking = true }, Dispatcher),
      holds = { remove = notes "leave", losses = { note = notes "loss" } },
      lifetimes = { unnote = notes "unnote" },
      waits = { wake_all = notes "wake" },
    }
    local hold = Hold.new({ client = client, remove = notes "leave path" }, {}, "owner")
    hold.waiters = {}
    if reason == "released" then
      hold.state = "held"
      hold:release()
    else
      hold:finish(reason)
    end
    return table.concat(told, ", "), hold, client.dispatcher.ending[0]
  end

  local LEAVES = "leave, leave path, unnote"
  local ROWS = {
    { "refused", "says nothing to the engine, and no event follows", "failed", LEAVES },
    { "released", "stays for the event that says whether it was lost", "released", LEAVES },
    { "rested", "says nothing to the engine, and no event follows", "released", LEAVES },
    { "lost", "is noted for the owner's next release, and stays for its event", "lost", "loss, " .. LEAVES },
    { "cancelled", "leaves the line first, and wakes those who wait for it", "failed",
      "quit, " .. LEAVES .. ", wake", "cancelled" },
    { "unreceived", "counts as abandoned, and wakes those who wait for it", "lost",
      "drop, " .. LEAVES .. ", wake", "lost" },
    { "declined", "leaves the line last, for with it goes the event that is being told", "failed",
      LEAVES .. ", quit" },
    { "deserted", "tells the engine that its owner has ended, and wakes those who wait for it", "failed",
      "drop, " .. LEAVES .. ", wake", "cancelled" },
    { "abandoned", "tells the engine that its owner has ended, and wakes those who wait for it", "released",
      "drop, " .. LEAVES .. ", wake", "cancelled" },
  }
  for _, row in ipairs(ROWS) do
    local reason, what, state, told, err = row[1], row[2], row[3], row[4], row[5] or false
    it(("that is %s %s"):format(reason, what), function()
      local said, hold, stays = finish(reason)
      assert.equal(told, said)
      assert.equal(state, hold.state)
      assert.equal(err, hold.err)
      assert.equal((reason == "lost" or reason == "released") and hold or nil, stays)
      assert.equal(told:find("drop", 1, true) ~= nil, hold.dropped)
    end)
  end

  describe("after an error", function()
    local here = fixture.new("/endings")

    it("is told once more to a request that was cancelled when it was granted", function()
      local client, list, callback = here:connect(), here.answers()
      local request = client:mutex(here.path):request(PATIENCE, callback)
      wait.eventually(function() return client:stats().held == 1 end, PATIENCE) -- granted, but not polled
      assert.is_true(request:cancel())
      local holds = client.holds
      function holds.remove()
        holds.remove = nil
        error("not enough memory", 0)
      end
      assert.is_false((pcall(client.poll, client)))
      assert.equal("failed", request:state())
      client:poll()
      assert.equal("failed", request:state())
      assert.same({ { nil, "cancelled" } }, list)
      here:becomes(0)
    end)
  end)
end)
