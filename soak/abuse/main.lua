-- SPDX-License-Identifier: MIT
--- For soak/lua.lua: misuses zklock under one Lua for a while, and looks again and again whether anything is left.
---
---   LUA soak/abuse/main.lua HOSTS ROOT SECONDS SEED
---
--- Prints how far it is; its last line is "well: ..." or "not well: ...", with status 1.
local acts = require "soak.abuse.acts"
local census = require "soak.abuse.census"
local core = require "zklock.core"
local raised = require "soak.abuse.raised"
local zklock = require "zklock"

local hosts, root, length, seed = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
--- Things that are made once are made in the first part of the time.
local WARM = 0.3
local ROUNDS = 12
local PATIENCE = 30 -- seconds
--- For each operation a process may keep so many bytes, and once so many.
local BYTES = { Lua = 0.5, process = 4 }
local ONCE = { Lua = 192 * 1024, process = 8 * 1024 * 1024 }

local broken -- what an error said that nobody here has raised

local function on_error(message)
  if type(message) ~= "string" then
    broken = "on_error got a " .. type(message)
  elseif not raised.is_ours(message) then
    broken = "on_error got: " .. message
  end
end

local function connect()
  return assert(zklock.connect(hosts, { session_timeout = 30, on_error = on_error }))
end

math.randomseed(seed)
local world = { root = root, client = connect(), rival = connect(), connect = connect, kept = {}, threads = {},
  callbacks = 0 }
local done = 0

local function fail(why, ...)
  print(("not well: " .. why):format(...))
  os.exit(1)
end

local function rss()
  for line in io.lines "/proc/self/status" do
    local kilobytes = line:match("VmRSS:%s*(%d+)")
    if kilobytes then return tonumber(kilobytes) * 1024 end
  end
end

local jit = rawget(_G, "jit")

--- The code that LuaJIT has compiled is memory of Lua's.
local function collect()
  if jit then jit.flush() end
  for _ = 1, 4 do collectgarbage() end
end

--- The holders, as far as the module knows.
local function holders(client)
  local list = {}
  for _, hold in ipairs(client.holds.all.list) do
    local owner = hold.whose[1]
    list[#list + 1] = ("%s (%s, count %d, of %s)"):format(hold.lock_path.path, hold.state, hold.contender:count(),
      type(owner) == "thread" and "a coroutine that is " .. coroutine.status(owner)
        or pcall(tostring, owner) and tostring(owner) or "a table with traps")
  end
  return #list == 0 and "nobody" or table.concat(list, ", ")
end

local function is_at_rest(client)
  for _, each in ipairs { world.client, world.rival } do each:poll() end -- each has callbacks that wait for both
  acts.release_all(world) -- callbacks may have taken something in an owner's name
  local stats = client:stats()
  return stats.held == 0 and stats.waiting == 0, stats
end

--- Until everything is given back that is nobody's.
local function rest()
  world.kept, world.threads = {}, {}
  collectgarbage "restart"
  local deadline = core.now() + PATIENCE
  for name, client in pairs { client = world.client, rival = world.rival } do
    while true do
      local rests, stats = is_at_rest(client)
      if rests then break end
      if core.now() > deadline then
        fail("after %d operations the %s has %d held, %d waiting, and nobody gives them back: %s", done, name,
          stats.held, stats.waiting, holders(client))
      end
      collectgarbage()
      client:poll(0.01)
    end
    assert(client:flush(PATIENCE))
  end
  client = nil -- luacheck: ignore 111
  collect()
end

local function measure()
  rest()
  return { done = done, Lua = collectgarbage("count") * 1024, process = rss(),
    census = census.take { client = world.client, rival = world.rival } }
end

local function check_growth(warm, now)
  local what = census.grown(warm.census, now.census)
  if what then fail("%s", what) end
  local count = now.done - warm.done
  for where, most in pairs(BYTES) do
    local more = now[where] - warm[where]
    if more > ONCE[where] + most * count then
      fail("%d operations made the memory of %s larger by %d bytes: %.2f each", count,
        where == "Lua" and "Lua" or "the process", more, more / count)
    end
  end
end

local function work(seconds)
  local deadline = core.now() + seconds
  repeat
    acts.any(world)
    done = done + 1
    if broken then fail("%s", broken) end
  until core.now() > deadline
end

local function tell()
  print(("so far %d operations, %d callbacks, Lua %.0f KB, %.1f MB"):format(done, world.callbacks,
    collectgarbage("count"), rss() / 2 ^ 20))
  io.stdout:flush()
end

local ok, err = xpcall(function()
  work(length * WARM)
  local warm = measure()
  for _ = 1, ROUNDS do
    work(length * (1 - WARM) / ROUNDS)
    rest()
    tell()
  end
  local now = measure()
  check_growth(warm, now)
  world.client:close()
  world.rival:close()
  local each = (now.Lua - warm.Lua) / (now.done - warm.done)
  print(("well: %d operations, %d callbacks; %.2f bytes of Lua and %.1f of the process for each"):format(done,
    world.callbacks, each, (now.process - warm.process) / (now.done - warm.done)))
end, function(err) return type(err) == "string" and debug.traceback(err, 2) or err end)
if not ok then fail("%s", tostring(err)) end
