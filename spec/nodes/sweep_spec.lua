-- SPDX-License-Identifier: MIT
--- Every wire operation of each call on nodes, cut off in every way: what the caller was told is what the servers have.
--- A write says that it was done, or that it was not, or that it is not known; it is done once at most.

local fixture = require "spec.support.fixture"
local stage = require "spec.support.stage"

--- The other faults let the request go on, or its reply, only after the call's deadline.
local FAULTS = { hold_before = "it held up beyond the deadline", hold_reply = "its reply held up beyond the deadline" }
for verb, text in pairs(stage.FAULTS) do FAULTS[verb] = text end
--- Seconds that a call has then, at first: on a busy machine they may end before the fault strikes.
local SHORT = 0.3

describe("a fault at every wire operation of a call on nodes #once:", function()
  local here = fixture.new("/node-sweep", { session_timeout = 40 })
  local played, faulty, client, path, patience = 0, nil, nil, nil, nil

  before_each(function()
    patience = here.patience
    faulty = here:proxy { doors = 5 }
  end)

  local function data(at) return (here.tree:get(at)) end

  --- Each call has `call(timeout)`; `is_done()`: have the servers done it, once? `is_undone()`: not at all? A
  --- read has `good(...)` for what it gives. Before each there is a node with "0" at the path.
  local CALLS = {
    get = { call = function(t) return client:get(path, t) end, good = function(got) return got == "0" end },
    exists = { call = function(t) return client:exists(path, t) end, good = function(got) return got.length == 1 end },
    children = { call = function(t) return client:children(path, t) end, good = function(got) return #got == 0 end },
    sync = { call = function(t) return client:sync(t) end, good = function(got) return got end },
    set = {
      call = function(t) return client:set(path, "1", nil, t) end,
      is_done = function() return here.tree:exists(path).version == 1 and data(path) == "1" end,
      is_undone = function() return here.tree:exists(path).version == 0 and data(path) == "0" end,
    },
    create = {
      call = function(t) return client:create(path .. "/n-", "1", { sequential = true }, t) end,
      is_done = function() return #here:nodes(path) == 1 end,
      is_undone = function() return #here:nodes(path) == 0 end,
    },
    ["create with parents"] = {
      call = function(t) return client:create(path .. "/a/b/c", "1", { parents = true }, t) end,
      is_done = function() return data(path .. "/a/b/c") == "1" end,
      is_undone = function() return data(path .. "/a/b/c") == nil end,
    },
    delete = {
      call = function(t) return client:delete(path, 0, t) end,
      is_done = function() return data(path) == nil end,
      is_undone = function() return data(path) == "0" end,
    },
    multi = {
      call = function(t) return client:multi({ { "set", path, "1" }, { "create", path .. "/x", "" } }, t) end,
      is_done = function() return data(path) == "1" and #here:nodes(path) == 1 end,
      is_undone = function() return data(path) == "0" and #here:nodes(path) == 0 end,
    },
    ["guarded multi"] = {
      before = function() assert(client:mutex(path .. "-lock"):acquire(patience)) end,
      call = function(t) return client:mutex(path .. "-lock"):multi({ { "set", path, "1" } }, t) end,
      is_done = function() return here.tree:exists(path).version == 1 end,
      is_undone = function() return here.tree:exists(path).version == 0 end,
    },
  }

  --- Not done, and never will be.
  local NOT_DONE = { disconnected = true, timeout = true, closed = true }

  local function judge(call, got, err)
    if call.good then
      if got == nil then return assert(NOT_DONE[err], err) end
      return assert(call.good(got), "it gave what is not there")
    end
    local done, undone = call.is_done(), call.is_undone()
    assert(done or undone, "it is half done, or twice")
    if got ~= nil then return assert(done, "it said that it was done") end
    if err == "unknown" then return nil end
    assert(NOT_DONE[err], tostring(err))
    assert(undone, "it said " .. err .. ", and was done")
  end

  --- Plays it once, with a fault at the n-th request, nil: without. A call that the fault holds up has `short` seconds.
  --- Gives how many requests there were, whether the fault struck, and whether the call had too little time for that.
  local function play(call, verb, n, short)
    played = played + 1
    path = ("%s/%d"):format(here.root, 1000 + played)
    assert(here.tree:create(path, "0", { parents = true }))
    client = here:connect_to(faulty.hosts, { connect_timeout = patience })
    if call.before then call.before() end
    faulty:reset()
    if n then faulty[verb](faulty, "*", n) end
    local held_up = n and verb:find("^hold") ~= nil
    local got, err = call.call(held_up and short or patience)
    local struck, total = faulty:pending() == 0, faulty:counts().total
    faulty:heal()
    -- Anything held up arrives before this is answered.
    assert(client:sync(patience))
    judge(call, got, err)
    assert(held_up or got ~= nil or not call.good, "a read was not repeated")
    assert(client:stats().sessions == 1, "the session is lost")
    client:close()
    return total, struck, held_up and not struck and got == nil
  end

  for name, call in pairs(CALLS) do
    for verb, text in pairs(FAULTS) do
      it(("%s: %s"):format(name, text), function()
        local n, strikes, short, total = 1, 0, SHORT, play(call)
        local ok, struck, too_short
        repeat
          ok, struck, too_short = pcall(function() return select(2, play(call, verb, n, short)) end)
          if not ok then error(("at %d: %s"):format(n, tostring(struck)), 0) end
          if struck then strikes = strikes + 1 end
          if too_short then short = 2 * short else n = n + 1 end
        until n > total + 1 and not struck and not too_short
        assert(strikes > 0, "no fault struck")
      end)
    end
  end
end)
