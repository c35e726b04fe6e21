-- SPDX-License-Identifier: MIT
--- Bytes become calls of everything public, with drawn arguments, on clients that no server answers: whatever a call is
-- given, it answers, waits, or raises an error that says what is wrong with which argument. For fuzz/arguments.c.
-- (spec/client/arguments_spec.lua does so at random, with a server, too.)

local zklock = require "zklock"
local options = require "zklock.options"

local RUNS = 200 -- with one client
local CALLS = 12 -- of one input
local DEPTH = 3 -- of tables in tables
local FIELDS = 4
local PATH = "/arguments"

-- Not public; or the client's end; or what would run what it is given.
local LEFT_OUT = dofile "spec/support/private.lua"
LEFT_OUT.close, LEFT_OUT.spawn = true, true

-- How a message about misuse begins, behind where we called from. "inside" is what the caller's own metamethods raise.
local HERE = "^fuzz/arguments%.lua:%d+: "
local EXPECTED = { "^bad argument ", "^call it with a colon, ", "^inside$" }

-- Whoever waits is never woken: his coroutine is collected.
local loop = { name = "nobody's", background = true, wait = function() coroutine.yield() end, wake = function() end }

local function ignore() end
local function raise() error "inside" end

local runs = 0
local made -- everything that has methods

---------------------------------------------------------------------------------------------------------------
-- The values of an input; when it is used up, all is 0

local Input = {}
Input.__index = Input

function Input:any(below)
  self.at = self.at + 1
  return (self.bytes:byte(self.at) or 0) % below
end

function Input:pick(list) return list[self:any(#list) + 1] end

function Input:text(most)
  local length = self:any(most + 1)
  local text = self.bytes:sub(self.at + 1, self.at + length)
  self.at = self.at + length
  return text
end

function Input:is_used_up() return self.at >= #self.bytes end

---------------------------------------------------------------------------------------------------------------
-- Values

local NUMBERS = { 0, 1, -1, 0.5, 1e-9, 1e-320, 1e9, 2 ^ 31, 2 ^ 31 - 1, 2 ^ 32, 2 ^ 53, -2 ^ 63, 2 ^ 63, 1e308, 1 / 0,
  -1 / 0, 0 / 0, math.maxinteger, math.mininteger }

local WORDS = { "", "set", "create", "delete", "check", "open", "creator", "read", "thread", "digest", "user:password",
  PATH, "/", "/zookeeper", PATH .. "/", PATH .. "//x", PATH .. "/../x", PATH .. "/x-lock-0000000000", "\0", "/\0",
  "/\xff", "/\xed\xa0\x80", ("x"):rep(1025), "/" .. ("x"):rep(256), ("/x"):rep(129), ("x"):rep(1000001) }

--- The names of all options, in order.
local function option_names()
  local set, names = { ephemeral = true, sequential = true, container = true, parents = true, scheme = true,
    credential = true, ca = true, cert = true, key = true, password = true }, {}
  for _, known in pairs(options.known) do
    for name in pairs(known) do set[name] = true end
  end
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local NAMES = option_names()

-- Tables that answer with an error, or with a lie.
local STRANGE = {
  setmetatable({}, { __index = raise, __len = raise, __pairs = raise, __tostring = raise }),
  setmetatable({}, { __index = function() return 1 end, __len = function() return 1e9 end }),
  setmetatable({}, { __len = function() return "x" end, __eq = raise, __lt = raise, __name = "x\0y" }),
  setmetatable({}, { __index = function(_, key) return key end, __metatable = false }),
}

local value

local function drawn_table(input, depth)
  local list = {}
  for i = 1, input:any(FIELDS + 1) do
    local key = i
    local way = input:any(4)
    if way == 0 then key = input:pick(NAMES) elseif way == 1 then key = input:text(12) end
    list[key] = value(input, depth - 1)
  end
  return list
end

local DRAWN = {
  function() return nil end,
  function(input) return input:any(2) == 1 end,
  function(input) return input:pick(NUMBERS) end,
  function(input) return input:any(256) end,
  function(input) return input:pick(WORDS) end,
  function(input) return input:text(60) end,
  function(input) return "/" .. input:text(60) end,
  function(input) return PATH .. "/" .. input:text(8) end,
  function(input) return input:pick { ignore, raise, coroutine.create(ignore), io.stdout, loop } end,
  function(input) return input:pick(STRANGE) end,
  function(input) return input:pick(made) end,
  function(input, depth) return depth > 0 and drawn_table(input, depth) or nil end,
  -- Values that are nearly right.
  function(input, depth) return { { input:pick(WORDS), PATH, value(input, depth - 1), input:any(3) - 2 } } end,
  function(input, depth) return { [input:pick(NAMES)] = value(input, depth - 1) } end,
}

function value(input, depth)
  if depth < 0 then return nil end
  return input:pick(DRAWN)(input, depth)
end

---------------------------------------------------------------------------------------------------------------
-- Calls

local function methods(object)
  local found = {}
  for name, method in pairs(debug.getmetatable(object)) do
    if type(method) == "function" and not LEFT_OUT[name] and not name:find "^__" then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end

--- A call waits, answers (an error is told as text), or raises what docs/api.md knows.
local function check(label, ok, first, second)
  if ok then
    if first == nil and second ~= nil and type(second) ~= "string" then
      error(("%s answered nil and a %s"):format(label, type(second)), 0)
    end
    return
  end
  local message = type(first) == "string" and first:gsub(HERE, "") or ""
  for _, pattern in ipairs(EXPECTED) do
    if message:find(pattern) then return end
  end
  error(("%s raised: %s"):format(label, type(first) == "string" and first or type(first)), 0)
end

--- In a coroutine of its own, in which it may wait as long as it likes.
local function try(label, fn, ...) check(label, coroutine.resume(coroutine.create(fn), ...)) end

local function some_values(input)
  local list, n = {}, input:any(6)
  for i = 1, n do list[i] = value(input, DEPTH) end
  return list, n
end

local function call_method(input)
  local object = input:pick(made)
  local name = input:pick(methods(object))
  local self = input:any(20) == 1 and value(input, 0) or object
  local list, n = some_values(input)
  if name == "poll" and type(list[1]) == "number" and list[1] > 0 then list[1] = 0 end -- it would wait itself
  try(("%s:%s"):format(getmetatable(object).__name, name), object[name], self, table.unpack(list, 1, n))
end

-- Names would be looked up.
local HOSTS = { "127.0.0.1:1", "127.0.0.1:1,127.0.0.1:1", "127.0.0.1:1" .. PATH, "", "127.0.0.1:", "127.0.0.1:99999" }

--- The options are drawn, but for who waits: a client that is made waits for nobody.
local function call_connect(input)
  local hosts = input:any(2) == 1 and "127.0.0.1:1/" .. input:text(20) or input:pick(HOSTS)
  local given = drawn_table(input, DEPTH)
  if given.loop then given.loop = value(input, 0) else given.loop = loop end
  if not rawequal(given.loop, loop) then given.connect_timeout = 0 end
  try("connect", function()
    local client, err = zklock.connect(input:any(20) == 1 and value(input, 1) or hosts, given)
    if client then client:close() end
    return client and true, err
  end)
end

local function begin()
  local client = zklock.connect("127.0.0.1:1", { loop = loop, on_error = ignore })
  local rwlock, mutex = client:rwlock(PATH .. "/rw"), client:mutex(PATH)
  made = { client, mutex, client:semaphore(PATH .. "/s", 2), rwlock, rwlock.read, rwlock.write,
    client:multilock { PATH .. "/a", PATH .. "/b" }, client:mutex(PATH .. "/unfair", { fair = false }),
    mutex:request(0, ignore), client:semaphore(PATH .. "/s", 2):request(0, ignore), client:watch(PATH, ignore) }
end

return function(bytes)
  if runs % RUNS == 0 then
    if made then made[1]:close() end
    begin()
  end
  runs = runs + 1
  local input = setmetatable({ bytes = bytes, at = 0 }, Input)
  for _ = 1, CALLS do
    if input:is_used_up() then return end
    if input:any(64) == 63 then call_connect(input) else call_method(input) end
  end
end
