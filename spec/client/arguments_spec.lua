-- SPDX-License-Identifier: MIT
--- Whatever a call is given: it answers, waits, or raises an error that says what is wrong with which argument. Never a
-- crash, never an error from inside. The arguments of thousands of calls are drawn from a seed, which a failure prints;
-- ARGUMENTS=SEED repeats it. Each call has a coroutine of its own, in which it may wait as long as it likes.

local fixture = require "spec.support.fixture"
local port = require "spec.support.port"
local uv = require "luv"

local CALLS = tonumber(os.getenv "ARGUMENTS_CALLS") or 4000
local seed = tonumber(os.getenv "ARGUMENTS") or os.time()

--- Numbers that do not hang on the Lua.
local function generator(state)
  return function(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
  end
end

-- Not public; or the client's end; or what would run what it is given.
local LEFT_OUT = { close = true, spawn = true }
for name in pairs(require "spec.support.private") do LEFT_OUT[name] = true end

-- How a message about misuse begins.
local EXPECTED = { "^bad argument ", "^call it with a colon, ", "attempt to yield" }

describe("a call #once", function()
  local here = fixture.new("/arguments")

  --- Everything that has methods, and the module's own functions that take a client's words.
  local function objects(client)
    local path = here.path
    local mutex, semaphore, rwlock = client:mutex(path), client:semaphore(path .. "/s", 2), client:rwlock(path .. "/rw")
    local request = mutex:request(0, function() end)
    local made = { client, mutex, semaphore, rwlock, rwlock.read, rwlock.write, request,
      client:multilock { path .. "/a", path .. "/b" }, client:mutex(path .. "/unfair", { fair = false }) }
    local guard, lease = client:mutex(path .. "/g"):guard(0), client:semaphore(path .. "/l", 1):acquire(0)
    made[#made + 1] = guard
    made[#made + 1] = lease
    made[#made + 1] = client:watch(path, function() end)
    made[#made + 1] = client:job(path .. "/job", function() end)
    return made
  end

  local function methods(object)
    local found = {}
    for name, method in pairs(getmetatable(object)) do
      if type(method) == "function" and not LEFT_OUT[name] and not name:find "^__" then found[#found + 1] = name end
    end
    table.sort(found)
    return found
  end

  local function palette(any, made)
    local values = {
      function() return nil end,
      function() return any(2) == 1 end,
      function() return 0 end,
      function() return -any(1000) end,
      function() return 0 / 0 end,
      function() return 0.01 / any(100) end,
      function() return ("x"):rep(any(5000)) end,
      function() return "/" .. ("a/"):rep(any(140)) .. "b" end,
      function() return here.path .. "/x-lock-0000000001" end,
      function() return here.path end,
      function() return "\0\255/\n" end,
      function() return "" end,
      function() return {} end,
      function() return { { "set", here.path, "data", any(3) - 2 }, { "check", here.path } } end,
      function() return { "delete", here.path } end,
      function() return setmetatable({}, { __index = function() error "inside" end }) end,
      function()
        return setmetatable({}, { __tostring = function() error "inside" end, __len = function() return 1e9 end })
      end,
      function() return { fair = false, linger = any(3) - 2, stint = any(5000) - 2 } end,
      function() return { ephemeral = true, sequential = any(2) == 1, container = any(2) == 1, acl = any(2) } end,
      function() return print end,
      function() return coroutine.create(print) end,
      function() return io.stdout end,
      function() return 1 / 0 end,
      function() return 2 ^ any(1023) end,
      function() return any(100000) end,
      function() return made[any(#made)] end,
    }
    return values
  end

  --- nil: it returned, or its error is one that docs/api.md knows. Else what is wrong with that.
  local function wrong(ok, err)
    if ok then return nil end
    if type(err) ~= "string" then return "raised a " .. type(err) end
    local said = err:gsub("^spec/client/arguments_spec%.lua:%d+: ", "") -- where the call stands
    for _, pattern in ipairs(EXPECTED) do
      if said:find(pattern) then return nil end
    end
    if err:find("inside", 1, true) then return nil end -- the caller's own metamethod raised
    return "raised: " .. err
  end

  --- `closed`: the client is closed before.
  local function call_all(client, closed)
    local any = generator(seed % 2147483646 + 1)
    local made = objects(client)
    if closed then client:close() end
    local values = palette(any, made)
    local problems = {} -- a call that waits may raise later, out of the loop
    for i = 1, CALLS do
      local object = made[any(#made)]
      local names = methods(object)
      local name = names[any(#names)]
      local args, n = {}, any(5) - 1
      for j = 1, n do args[j] = values[any(#values)]() end
      local self = any(20) == 1 and made[any(#made)] or object
      local label = ("ARGUMENTS=%d, call %d, %s:%s"):format(seed, i, tostring(object), name)
      coroutine.wrap(function()
        local problem = wrong(pcall(object[name], self, table.unpack(args, 1, n)))
        if problem then problems[#problems + 1] = label .. " " .. problem end
      end)()
      if i % 50 == 0 then uv.run("nowait") end
      assert.is_nil(problems[1])
    end
    client:close()
    uv.run("nowait")
    assert.is_nil(problems[1])
  end

  local OPTIONS = { loop = "luv", on_error = function() end }

  it("on a client without a server answers, or names the argument", function()
    local options = { loop = "luv", on_error = function() end, connect_timeout = 0 }
    call_all(here:connect_to("127.0.0.1:" .. port.free(), options))
  end)

  it("on a client of a server answers, or names the argument", function() call_all(here:connect(OPTIONS)) end)

  it("on a closed client answers, or names the argument", function() call_all(here:connect(OPTIONS), true) end)
end)
