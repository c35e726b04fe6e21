-- SPDX-License-Identifier: MIT
--- Callbacks that do anything at all: every request gets its answer once, whatever the others do.

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local SESSION = 30 -- seconds
local PATIENCE = wait.PATIENCE
local ERRORS = { timeout = true, cancelled = true, closed = true, disconnected = true }

describe("callbacks", function()
  local here = fixture.new("/callbacks", { session_timeout = SESSION })
  local client, errors, path

  before_each(function() path, errors = here.path, {} end)

  local function connect(hosts)
    client = here:connect_to(hosts or here:hosts(), { on_error = function(message) errors[#errors + 1] = message end })
  end

  local function nodes_below()
    local n = 0
    for _, name in ipairs(here.tree:children(path) or {}) do
      n = n + #(here.tree:children(path .. "/" .. name) or {})
    end
    return n
  end

  --- n requests for free locks whose grants have arrived, and n that wait for a holder; no callback has run yet.
  local function crowd(n, callback)
    local held = assert(zklock.connect(here:hosts(), { session_timeout = SESSION }))
    assert(held:mutex(path .. "/taken"):acquire(PATIENCE))
    local requests = {}
    for i = 1, 2 * n do
      local name = i <= n and i or "taken"
      requests[i] = client:mutex(path .. "/" .. name):request(PATIENCE, function(...) callback(i, requests, ...) end)
    end
    wait.eventually(function()
      local stats = client:stats()
      return stats.acquired == n and stats.waiting == n
    end)
    return held
  end

  it("run once each although a finalizer polls when one is about to begin", function()
    connect()
    local called, adopt = {}, client.waits.adopt
    function client.waits.adopt(...) -- allocates, as much around it does
      client.waits.adopt = nil
      client:poll()
      return adopt(...)
    end
    for i = 1, 3 do client:spawn(function() called[#called + 1] = i end) end
    while #called < 3 or client.callbacks:is_pending() do client:poll() end
    assert.same({ 1, 2, 3 }, called)
    assert.is_nil(rawget(client.waits, "adopt"))
  end)

  it("may be C functions", function()
    connect()
    local got
    client:mutex(path):request(PATIENCE, coroutine.wrap(function(token) got = token end)) -- wrap returns a C function
    wait.eventually(function()
      client:poll(0.01)
      return got
    end, PATIENCE)
    assert.is_number(got)
    assert.same({}, errors)
  end)

  it("are reported to on_error once if they are C functions that raise, and later ones still run", function()
    connect()
    local calls, got = 0, nil
    client:mutex(path .. "/a"):request(PATIENCE, coroutine.wrap(function()
      calls = calls + 1
      error("from C")
    end))
    client:mutex(path .. "/b"):request(PATIENCE, function(token) got = token end)
    wait.eventually(function()
      client:poll(0.01)
      return got
    end, PATIENCE)
    client:poll()
    assert.equal(1, calls)
    assert.equal(1, #errors)
    assert.matches("from C", errors[1])
    assert.is_number(got)
  end)

  it("get one answer each when one of them closes the client, before close returns", function()
    connect()
    local calls, answers, seen_by_close = {}, {}, nil
    local holder = crowd(10, function(i, _, token, err)
      calls[i] = (calls[i] or 0) + 1
      answers[i] = token and "token" or err
      if i == 3 then
        client:close()
        seen_by_close = #answers
      end
    end)
    client:poll()
    assert.equal(20, seen_by_close)
    for i = 1, 20 do
      assert.equal(1, calls[i])
      assert.equal(i <= 10 and "token" or "closed", answers[i])
    end
    assert.equal(0, client:poll())
    holder:close()
    wait.eventually(function() return nodes_below() == 0 end)
    assert.same({}, errors)
  end)

  it("get one answer each when one of them raises, releases, and cancels all others", function()
    connect()
    local calls, answers = {}, {}
    local holder = crowd(10, function(i, requests, token, err)
      calls[i] = (calls[i] or 0) + 1
      answers[i] = token and "token" or err
      if i == 3 then
        for _, request in ipairs(requests) do
          request:cancel()
          request:release()
        end
        error("and raises")
      end
    end)
    wait.eventually(function()
      client:poll(0.02)
      return #answers == 20
    end)
    client:poll(0.02)
    for i = 1, 20 do
      assert.equal(1, calls[i])
      assert.equal(i <= 10 and "token" or "cancelled", answers[i])
    end
    assert.equal(1, #errors)
    assert.matches("and raises", errors[1])
    wait.eventually(function() return nodes_below() == 1 end)
    holder:close()
  end)

  -- ---- at random --------------------------------------------------------------------------------------------------

  local SEED = tonumber(os.getenv("ZKLOCK_SEED")) or os.time() % 1e6
  local TOTAL = 2000
  local LOCKS = 6

  local function generator(seed)
    local state = seed + 1
    return function(n)
      state = (state * 16807) % 2147483647
      return state % n + 1
    end
  end

  local function complain(book, record, what)
    if #book.wrong < 10 then book.wrong[#book.wrong + 1] = ("request %d heard %s"):format(record.number, what) end
  end

  --- A request's record counts its calls; the book of all records notes what was wrong with them.
  local function note(book, record, token, err)
    record.calls = record.calls + 1
    local good = type(token) == "number" and err == nil or token == nil and ERRORS[err]
    if not good then complain(book, record, tostring(token) .. ", " .. tostring(err)) end
    if not token then return end
    local last = book.last[record.lock] or 0
    if token <= last then complain(book, record, ("token %d after %d"):format(token, last)) end
    book.last[record.lock] = token
    book.granted = book.granted + 1
  end

  local TIMEOUTS = { math.huge, math.huge, 20, 0.05, 0.002, 0 }

  local ask

  --- The actions of a callback on its own request's record, and on that of `any()`.
  local acts = {
    function(record) record.request:release() end,
    function(record) record.request:release() end,
    function(record) record.request:release() end,
    function(record) record.request = nil end, -- dropped: collected some time
    function(_, _, any) any().cancel = true end,
    function(_, _, any)
      local other = any()
      if other.request then other.request:cancel() end
    end,
    function(_, _, any)
      local other = any()
      if other.request then other.request:release() end
    end,
    function(_, book) ask(book) end,
    function(_, book)
      ask(book)
      ask(book)
    end,
    function(_, book)
      local lock = client:mutex(path .. "/inner")
      if lock:acquire(0.01 * book.random(2) - 0.01) and book.random(2) == 1 then lock:release() end
    end,
    function() client:poll() end,
    function(_, book)
      book.raised = book.raised + 1
      error("on purpose")
    end,
  }

  function ask(book)
    if #book >= TOTAL then return end
    local record = { number = #book + 1, calls = 0 }
    book[record.number] = record
    record.lock = book.random(LOCKS)
    record.request = book.locks[record.lock]:request(TIMEOUTS[book.random(#TIMEOUTS)], function(token, err)
      note(book, record, token, err)
      if not record.request then return end
      local act = acts[book.random(#acts)]
      act(record, book, function() return book[book.random(#book)] end)
    end)
    if book.random(10) == 1 then record.request:cancel() end
  end

  --- Releases and drops everything that is still held.
  local function tidy(book)
    for _, record in ipairs(book) do
      if record.calls > 0 and record.request then
        record.request:release()
        record.request = nil
      elseif record.cancel and record.request then
        record.request:cancel()
      end
    end
    collectgarbage()
  end

  it(("are called once for each of %d requests, in a riot of ends, errors and faults"):format(TOTAL),
    function()
      local faulty = proxy.start(here.zk.hosts)
      connect(faulty.hosts)
      local rival = worker.start()
      assert(rival:connect(here:hosts(), { session_timeout = SESSION }))
      rival:begin("eval", [[
        local path, locks = ...
        for i = 1, 300 do
          local lock = worker.lock(path .. "/" .. i % locks + 1)
          if lock:acquire(0.05) then lock:release() end
        end
      ]], path, LOCKS)
      local book = {
        random = generator(SEED), wrong = {}, last = {}, raised = 0, granted = 0, locks = {}, losses = {},
      }
      for i = 1, LOCKS do
        book.locks[i] = client:mutex(path .. "/" .. i)
        book.locks[i]:on_lost(function(_, _, token) book.losses[#book.losses + 1] = token end)
      end
      local turn = 0
      while #book < TOTAL do
        turn = turn + 1
        for _ = 1, book.random(40) do ask(book) end
        client:poll(0.005 * (book.random(3) - 1))
        if book.random(4) == 1 then tidy(book) end
        if turn % 60 == 20 then faulty:cut() end
        if turn % 60 == 50 and client:session_id() then faulty:expire_session(client:session_id()) end
      end
      local context = ("ZKLOCK_SEED=%d"):format(SEED)
      local function answered()
        local n = 0
        for _, record in ipairs(book) do n = n + (record.calls > 0 and 1 or 0) end
        return n
      end
      wait.eventually(function()
        tidy(book)
        client:poll(0.02)
        return answered() > TOTAL - 50
      end, 2 * PATIENCE, "most answers, " .. context)
      client:close()
      rival:finish()
      rival:close()
      rival:kill()
      faulty:close()

      assert.same({}, book.wrong, context)
      for _, record in ipairs(book) do
        assert.equal(1, record.calls, ("%s: calls of request %d"):format(context, record.number))
      end
      assert.equal(book.raised, #errors, context)
      for _, message in ipairs(errors) do assert.matches("on purpose", message, nil, nil, context) end
      local stats = client:stats()
      assert.same({ 0, 0 }, { stats.held, stats.waiting }, context)
      assert.equal(stats.acquired, stats.released + stats.lost, context)
      assert.is_true(book.granted > TOTAL / 20 and stats.sessions > 1, context)
      table.sort(book.losses)
      for i = 2, #book.losses do assert.not_equal(book.losses[i - 1], book.losses[i], context) end
      assert.is_true(#book.losses <= stats.lost, context)
      wait.eventually(function() return nodes_below() == 0 end, PATIENCE, "the end of every node, " .. context)
    end)
end)
