--- owner: who holds a lock and may release it. By default that is the running coroutine; the main program counts as
--- one.
local core = require "zklock.core"

--- The metatable itself, whatever its `__metatable` field shows.
local metatable_of = rawget(_G, "debug") and debug.getmetatable or getmetatable

local owner = {}

--- The main program, also where Lua has a coroutine for it: that one lies idle while a host's event handlers run.
owner.main = setmetatable({}, {
  __name = "zklock.main",
  __tostring = function() return "the main program" end,
})

--- The owner that a caller names: the main coroutine is the main program.
function owner.named(value)
  if type(value) == "thread" and core.is_main(value) then return owner.main end
  return value
end

--- Owners that may be collected while they hold: a table that has them as keys must be weak.
local weak = setmetatable({}, { __mode = "k" })

--- Declares an object to be such an owner.
function owner.declare_weak(object)
  weak[object] = true
end

--- Classes all of whose objects are such owners. They have the fields `_lifetimes`, `_number` and `_finalizer` (false),
--- which belong to `zklock.OwnerLifetimes`.
local weak_classes = {}

function owner.declare_weak_class(class)
  weak_classes[class] = true
end

--- Such a class, where somebody keeps each object until its end is told: nobody has to look, or to hear that it was
--- collected.
local kept_classes = {}

function owner.declare_kept_class(class)
  owner.declare_weak_class(class)
  kept_classes[class] = true
end

--- Is it of such a class?
function owner.is_kept(value)
  return kept_classes[metatable_of(value)] == true
end

--- Is it of a class all of whose objects may come to their end?
function owner.keeps_number(value)
  return weak_classes[metatable_of(value)] == true
end

--- Can this owner end while it holds?
function owner.can_end(value)
  return type(value) == "thread" or weak[value] == true or owner.keeps_number(value)
end

--- Owners that stand for a coroutine, each with a weak reference to it.
local stand_ins = setmetatable({}, { __mode = "k" })

--- Declares an object to be an owner that comes to its end with a coroutine.
function owner.declare_stand_in(object, thread)
  weak[object] = true
  stand_ins[object] = setmetatable({ thread }, { __mode = "v" })
end

--- The coroutines that are known to be run by resume: such a one comes to its end when its function returns.
local coroutines = setmetatable({}, { __mode = "k" })

--- The coroutine that it is, or stands for; nil: neither, or it is collected.
local function thread_of(value)
  local stand_in = stand_ins[value]
  if stand_in then return stand_in[1] end
  return type(value) == "thread" and value or nil
end

--- Looks whether it is run by resume, as long as that can be told: when it has returned, a coroutine looks like a
--- host's thread that lies idle. It can be told where the coroutine could be suspended, which is not below
--- `core.quietly`.
function owner.look(value)
  local thread = thread_of(value)
  if thread and not coroutines[thread] and core.is_coroutine(thread) then coroutines[thread] = true end
end

--- The owner of a call that names none, where the loop does not say otherwise. Looks what it is, as `owner.look` does.
function owner.current()
  local thread, is_main = coroutine.running()
  if thread and coroutines[thread] then return thread end
  if is_main or not thread then return owner.main end
  if core.is_coroutine(thread) then coroutines[thread] = true end
  return thread
end

--- The owner of a client's call that names none: the loop may say who that is.
---@param client zklock.Client
---@param by_thread boolean? the host's light thread, not what it serves
function owner.of_call(client, by_thread)
  local of_host = client.loop.owner
  if of_host then return of_host(client, by_thread) end
  return owner.current()
end

--- Has it come to its end, without having been collected?
function owner.is_dead(value)
  local thread = thread_of(value)
  if not thread then return stand_ins[value] ~= nil end
  -- A light thread that has returned stays there, with its results, until somebody waits for it.
  if stand_ins[value] and debug.getinfo(thread, 0, "l") == nil then return true end
  local fate = core.fate(thread)
  if fate == "idle" then return coroutines[thread] == true end
  if fate == "suspended" and not coroutines[thread] then coroutines[thread] = true end
  return fate == "failed"
end

--- Goes down a list of owners, from one of them so many steps, to the first who may have come to his end, or of whom is
--- to be noted that he is a coroutine, or who has nothing. Most are passed over in a moment.
---@param whos any[] an owner who was collected has left a nil
---@param shares table<integer, table>? what each of them has; nil: each has something
---@return integer? number
function owner.first_to_look_at(whos, from, steps, shares)
  return core.first_to_look_at(whos, coroutines, stand_ins, from, steps, shares)
end

local WEAK_VALUES = { __mode = "v" }

--- One for each coroutine: most take more than one lock.
local references = setmetatable({}, { __mode = "k" })

--- A reference to an owner. If the owner can end, its first entry is nil once the owner is collected.
---@return any[]
function owner.reference(value)
  local known = references[value]
  if known then return known end
  if owner.is_kept(value) or not owner.can_end(value) then return { value } end
  local reference = setmetatable({ value }, WEAK_VALUES)
  if type(value) == "thread" then references[value] = reference end
  return reference
end

--- A reference to nobody.
local NOBODY = {}

--- A reference to the owner if core can see whether this owner is the one that runs (`LockPath:show`); else a reference
--- to nobody.
---@param client zklock.Client
---@param reference any[] to the owner
---@return any[]
function owner.seen_by_core(client, reference)
  local value = reference[1]
  local by_running = not client.loop.owner and (rawequal(value, owner.main) or type(value) == "thread")
  return by_running and reference or NOBODY
end

return owner
