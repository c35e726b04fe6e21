-- SPDX-License-Identifier: MIT
--- owner: the identity that holds a lock and may release it. By default that is the running
--- coroutine; the main program is an owner, too.
local core = require "zklock.core"
local each = require "zklock.base.each"

local owner = {}

--- Stands for the main program, also in Lua versions that have a coroutine for it: that coroutine
--- is idle while a host's event handlers run.
owner.main = setmetatable({}, {
  __name = "zklock.main",
  __tostring = function() return "the main program" end,
})

--- Owners that never end, of no class that is asked for: most calls need no other answer.
local lasting = { [owner.main] = true }

--- The owner that a caller names. The main coroutine stands for the main program.
function owner.named(value)
  if type(value) == "thread" and core.is_main(value) then return owner.main end
  return value
end

--- Owners that the collector may take while they hold. A table with such keys must be weak.
local weak = setmetatable({}, { __mode = "k" })

--- Declares an object to be such an owner.
function owner.declare_weak(object)
  weak[object] = true
end

--- Classes whose objects are all such owners. The objects have the fields `_lifetimes`, `_number`
--- and `_finalizer` (false at first), which belong to `zklock.OwnerLifetimes`.
local weak_classes = {}

function owner.declare_weak_class(class)
  weak_classes[class] = true
end

--- Weak classes whose objects another table keeps until it learns that they have ended. They need
--- no checks and no finalizers. `set_busy(is_busy)` tells an object, before it holds or waits for
--- anything, that it will, and afterwards that it no longer does. `zklock.Relays` has the other methods.
local kept_classes = {}

function owner.declare_kept_class(class)
  owner.declare_weak_class(class)
  kept_classes[class] = true
end

--- True for an object of one of these classes. Another object may show such a class as its metatable; then it lacks the
--- field. LuaJIT compiles all of this, but no call of debug.getmetatable.
local function is_of(classes, value)
  return not lasting[value] and type(value) == "table" and classes[getmetatable(value)] == true
    and rawget(value, "_lifetimes") ~= nil
end

function owner.is_kept(value)
  return is_of(kept_classes, value)
end

--- True for an object of a weak class.
function owner.keeps_number(value)
  return is_of(weak_classes, value)
end

--- True if this owner can end while it holds.
function owner.can_end(value)
  return not lasting[value] and (type(value) == "thread" or weak[value] == true or owner.keeps_number(value))
end

--- Owners that stand for a coroutine, each with a weak reference to it.
local stand_ins = setmetatable({}, { __mode = "k" })

--- Declares an object to be an owner that ends when its coroutine ends.
function owner.declare_stand_in(object, thread)
  weak[object] = true
  stand_ins[object] = setmetatable({ thread }, { __mode = "v" })
end

--- Coroutines that Lua's resume runs, as far as known: they end when their function returns.
local coroutines = setmetatable({}, { __mode = "k" })

--- The coroutine that the owner is or stands for; nil if there is none or if it was collected.
local function thread_of(value)
  local stand_in = stand_ins[value]
  if stand_in then return stand_in[1] end
  return type(value) == "thread" and value or nil
end

--- Notes whether Lua's resume runs the owner's coroutine, while that is still visible: after its
--- function has returned, such a coroutine looks like an idle thread of a host. It is visible while
--- the coroutine could be suspended, so not below `core.quietly`.
function owner.look(value)
  local thread = thread_of(value)
  if thread and not coroutines[thread] and core.is_coroutine(thread) then coroutines[thread] = true end
end

--- The same for a coroutine of which core has noted that resume runs it.
function owner.note_resumed(thread)
  if not coroutines[thread] then coroutines[thread] = true end
end

--- The owner of a call that names none, unless the loop decides that. Notes the same as
--- `owner.look`.
function owner.current()
  local thread, is_main = coroutine.running()
  if is_main or not thread then return owner.main end
  if not coroutines[thread] and core.is_coroutine(thread) then coroutines[thread] = true end
  return thread
end

--- The owner of a client's call that names none. The loop may decide who that is.
---@param client zklock.Client
---@param by_thread boolean? true: the host's light thread; else the request that the host serves
function owner.of_call(client, by_thread)
  local of_host = client.loop.owner
  if of_host then return (of_host(client, by_thread)) end
  return owner.current()
end

--- True if the owner has ended but has not been collected.
function owner.is_dead(value)
  local thread = thread_of(value)
  if not thread then return stand_ins[value] ~= nil end
  -- A light thread that has returned keeps its results until another one waits for it.
  if stand_ins[value] and debug.getinfo(thread, 0, "l") == nil then return true end
  local fate = core.fate(thread)
  if fate == "idle" then return coroutines[thread] == true end
  if fate == "suspended" and not coroutines[thread] then coroutines[thread] = true end
  return fate == "failed"
end

--- Walks down a list of owners from one index, for so many steps. Returns the number of the first
--- owner that may have ended, that is a coroutine not noted so far, or that has no share. It skips
--- most owners quickly.
---@param whos any[] a collected owner leaves a nil
---@param shares table<integer, table>? the share of each owner; nil: every owner has one
---@return integer? number
function owner.first_to_look_at(whos, from, steps, shares)
  return core.first_to_look_at(whos, coroutines, stand_ins, from, steps, shares)
end

local WEAK_VALUES = { __mode = "v" }

--- One reference for each coroutine: most coroutines take more than one lock.
local references = setmetatable({ [owner.main] = { owner.main } }, { __mode = "k" })

--- A reference to an owner. If the owner can end, the first entry is nil once it has been
--- collected.
---@return any[]
---@return boolean keeps the same as `owner.keeps_number`
function owner.reference(value)
  local known = references[value]
  if known then return known, false end
  local keeps = owner.keeps_number(value)
  if owner.is_kept(value) or not owner.can_end(value) then return { value }, keeps end
  local reference = setmetatable({ value }, WEAK_VALUES)
  if type(value) == "thread" then references[value] = reference end
  return reference, keeps
end

-- ---- numbers ------------------------------------------------------------------------------------

local NUMBERS = 1048575 -- ZKL_OWNER_MOST
local VALUES_MOST = 10000
local FREE_LEAST = 10000 -- a look at all numbers has to last for so many

--- The numbers of owners. Those of strings, numbers and booleans are never collected: beyond VALUES_MOST the older
--- ones are forgotten, unless they are asked for again.
local numbers = setmetatable({}, { __mode = "k" })
local values, former, count, latest = {}, {}, 0, 0
--- The numbers that owners had when the latest round began.
local taken = {}

--- Two owners with one number would look as if each did what the other one does. If nearly all numbers are taken, that
--- is so.
local function taken_numbers()
  local set, free = {}, NUMBERS
  for _, known in ipairs { numbers, values, former } do
    for _, number in each(known) do
      set[number], free = true, free - 1
    end
  end
  return free < FREE_LEAST and {} or set
end

local function next_number()
  repeat
    if latest == NUMBERS then
      taken, latest = taken_numbers(), 0
    end
    latest = latest + 1
  until not taken[latest]
  return latest
end

local function number_of_value(value)
  local number = former[value] or next_number()
  if count == VALUES_MOST then values, former, count = {}, values, 0 end
  values[value], count = number, count + 1
  return number
end

--- The owner's number, from 1, which the names of its nodes show: other processes see by it which nodes belong
--- together. After a million others it comes again, once nobody has it. 0: the owner was collected.
---@return integer number
function owner.number(value)
  if not value and value == nil then return 0 end -- rawequal(value, nil), without a call
  local number = numbers[value] or values[value]
  if number then return number end
  local kind = type(value)
  if kind == "string" or kind == "number" or kind == "boolean" then return number_of_value(value) end
  number = next_number()
  numbers[value] = number
  return number
end

--- The coroutine keeps what the other owner holds for as long as it runs.
function owner.share_number(thread, other)
  numbers[thread] = owner.number(other)
end

--- The reference to the owner, if the C core can see whether this owner is the one that runs
--- (`LockPath:show`); otherwise false.
---@param client zklock.Client
---@param reference any[] to the owner
---@return any[]|false
function owner.seen_by_core(client, reference)
  local value = reference[1]
  local by_running = not client.loop.owner and (lasting[value] or type(value) == "thread")
  return by_running and reference
end

return owner
