-- SPDX-License-Identifier: MIT
--- Calls of a script, into which the specs raise an error at each instruction and at each allocation. Whatever an error
--- leaves of a call, a full collection takes, and the next caller gets the lock.

local assert = require "luassert"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

local calls = {}
calls.__index = calls

--- For a lock at `path` of one client; `other` is another client.
function calls.new(client, other, path)
  local self = setmetatable({ client = client, other = other, path = path, lock = client:mutex(path),
    theirs = other:mutex(path), told = {} }, calls)
  self:listen()
  return self
end

--- Forgets what was told. `failed`: how many callbacks an error has ended.
function calls:listen()
  self.count, self.failed = 0, 0
  for i = 1, 4 do self.told[i] = { false, false } end
end

--- A callback, which allocates nothing and keeps no request.
function calls:tell()
  return function(a, b)
    self.count = self.count + 1
    local answer = self.told[self.count]
    answer[1], answer[2] = a, b
  end
end

--- So many callbacks were called, each once.
function calls:all_told(n)
  self:poll_until(function() return self.count + self.failed >= n end, "all callbacks")
  self.client:poll()
  assert.is_true(self.count <= n and self.count + self.failed >= n, self.count)
end

function calls:poll_until(condition, what)
  wait.eventually(function()
    self.client:poll()
    return condition()
  end, PATIENCE, what)
end

--- Until the engine counts so many.
function calls:has(name, n)
  wait.eventually(function() return self.client:stats()[name] == n end, PATIENCE, name)
end

--- Nobody holds or waits, once what is nobody's is collected; and the next call gets the lock.
function calls:settle()
  if self.theirs:is_held() then assert(self.theirs:release()) end
  wait.eventually(function()
    collectgarbage()
    self.client:poll()
    local stats = self.client:stats()
    return stats.held == 0 and stats.waiting == 0
  end, PATIENCE, "the end of all that nobody has")
  assert.same({ nil, "not owner" }, { self.lock:release() })
  assert.is_number((self.lock:acquire(PATIENCE)))
  assert.is_true(self.lock:release())
  self:listen()
end

--- Releases as often as the caller has acquired.
local function release_all(lock, who)
  while lock:release(who) do end -- luacheck: ignore 542
end

--- The calls: `before()` prepares; `run()` is tried; `good(...)` looks at its results, if it has returned them to the
--- caller; `after(failed)` in any case, `failed`: an error came into the call. After a failure the caller has what it
--- had before.
---@return table[] each with a `title`
function calls:list()
  local client, lock, theirs, path = self.client, self.lock, self.theirs, self.path
  local hot, subject
  local tell = self:tell()
  local function acquired(token) assert.is_number(token) end
  local function take() assert(lock:acquire(PATIENCE)) end
  local function taken() if not theirs:is_held() then assert(theirs:acquire(PATIENCE)) end end

  --- The caller has so many acquires, and one more if the call has returned. `nil`: nobody knows whether it has.
  local function owns(n, of, who)
    return function(failed)
      collectgarbage()
      local owned = of and of() or lock
      if failed == nil then return release_all(owned, who) end
      for _ = 1, failed and n or n + 1 do assert.is_true(owned:release(who)) end
      assert.same({ nil, "not owner" }, { owned:release(who) })
    end
  end

  local function heat()
    hot = client:mutex(path .. "/hot", { fair = false, linger = 1000 })
    for _ = 1, 2 do
      assert(hot:acquire(PATIENCE))
      assert(hot:release())
    end
  end

  local function idle() return hot end
  local function both() return client:multilock { path .. "/a", path .. "/b" } end

  return {
    { title = "acquire", run = function() return lock:acquire(PATIENCE) end, good = acquired, after = owns(0) },
    { title = "acquire again", before = take, run = function() return lock:acquire(PATIENCE) end, good = acquired,
      after = owns(1) },
    { title = "acquire what somebody gives back", before = taken, good = acquired, after = owns(0), run = function()
      if theirs:is_held() then theirs:release() end
      return lock:acquire(PATIENCE)
    end },
    { title = "acquire in vain", before = taken, run = function() return lock:acquire(0.001) end,
      good = function(...) assert.same({ nil, "timeout" }, { ... }) end },
    { title = "acquire a place that is idle", before = heat, run = function() return hot:acquire(PATIENCE, "me") end,
      good = acquired, after = owns(0, idle, "me") },
    { title = "acquire what this owner gave back", before = heat, run = function() return hot:acquire(PATIENCE) end,
      good = acquired, after = owns(0, idle) },
    { title = "acquire two paths", run = function() return both():acquire(PATIENCE) end, good = acquired,
      after = owns(0, both) },
    { title = "guard", run = function() return lock:guard(PATIENCE) end, good = function(guard)
      assert.is_true(guard:is_held())
      assert.is_true(guard:release())
    end },
    { title = "with", run = function() return lock:with(PATIENCE, function(_, ...) return ... end, 1) end,
      good = function(...) assert.same({ true, 1 }, { ... }) end },
    { title = "acquire leases", run = function() return client:semaphore(path .. "/pool", 2):acquire(PATIENCE, 2) end,
      good = function(lease) assert.is_true(lease:release()) end },
    { title = "release", before = take, run = function() return lock:release() end,
      good = function(ok) assert.is_true(ok) end, after = function() release_all(lock) end },
    { title = "release a lease", before = function()
      subject = assert(client:semaphore(path .. "/pool", 2):acquire(PATIENCE))
    end, run = function() return subject:release() end, after = function() assert.is_true(subject:release()) end },
    { title = "release a guard, and nothing but its own", before = function()
      take()
      subject = assert(lock:guard(PATIENCE))
    end, run = function() return subject:release() end, after = function()
      assert.is_true(subject:release())
      assert.is_true(lock:release())
    end },
    { title = "request", run = function() return lock:request(PATIENCE, tell) end, good = function(request)
      self:all_told(1)
      assert.equal(request:token(), self.told[1][1])
      assert.is_true(request:release())
    end },
    { title = "cancel", before = function()
      subject = lock:request(PATIENCE, tell)
      self:has("held", 1)
    end, run = function()
      subject:cancel()
      client:poll()
    end, after = function()
      subject:cancel()
      self:all_told(1)
    end },
    { title = "poll for a grant and a failure", before = function()
      taken()
      subject = client:mutex(path .. "/free"):request(PATIENCE, tell)
      lock:request(0.001, tell)
      self:has("held", 1)
      self:has("waiting", 0)
    end, run = function() client:poll() end, after = function()
      self:all_told(2)
      assert.is_true(subject:release())
    end },
    { title = "poll for a loss and a revocation", before = function()
      local lost, asked = client:mutex(path .. "/lost"), client:mutex(path .. "/asked")
      lost:on_lost(tell)
      asked:on_revoke(tell)
      assert(lost:acquire(PATIENCE))
      assert(asked:acquire(PATIENCE))
      local stats = client:stats()
      assert(self.other:mutex(path .. "/asked"):revoke(PATIENCE))
      assert(self.other:delete(lost:nodes()[1], nil, PATIENCE))
      self:has("lost", stats.lost + 1)
      self:has("revoked", stats.revoked + 1)
      subject = { lost, asked }
    end, run = function() client:poll() end, after = function()
      self:all_told(2)
      assert.same({ nil, "lost" }, { subject[1]:release() })
      assert.is_true(subject[2]:release())
    end },
    -- In plain Lua 5.1 a callback that waits keeps the others waiting.
    (_VERSION ~= "Lua 5.1" or rawget(_G, "jit")) and { title = "poll for callbacks that wait", before = function()
      taken()
      for i = 1, 2 do
        client:mutex(path .. "/free" .. i):request(PATIENCE, function()
          assert(lock:acquire(PATIENCE))
          tell()
          assert(lock:release())
        end)
      end
      self:poll_until(function() return client:stats().waiting == 2 end, "waiting callbacks")
      assert(theirs:release())
      assert(client:flush(PATIENCE))
    end, run = function() client:poll() end, after = function() self:all_told(2) end } or nil,
  }
end

return calls
