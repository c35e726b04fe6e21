--- owner: who holds a lock and may release it. By default that is the running coroutine; the main program counts as
--- one.
local owner = {}

--- The main program's stand-in where the language gives it no coroutine (Lua 5.1, LuaJIT).
owner.main = setmetatable({}, {
  __name = "zklock.main",
  __tostring = function() return "the main program" end,
})

--- The owner of a call that names none, where the loop does not say otherwise.
function owner.current()
  return coroutine.running() or owner.main
end

--- Owners that may be collected while they hold: whoever keeps them keeps them weakly.
local weak = setmetatable({}, { __mode = "k" })

--- Declares an object to be such an owner.
function owner.declare_weak(object)
  weak[object] = true
end

function owner.is_weak(value)
  return type(value) == "thread" or weak[value] == true
end

-- nginx's own `status` calls every coroutine dead that is not of the running request.
local status = rawget(coroutine, "_status") or coroutine.status

--- Owners that stand for a coroutine, each with a weak reference to it.
local stand_ins = setmetatable({}, { __mode = "k" })

--- Declares an object to be an owner that comes to its end with a coroutine.
function owner.declare_stand_in(object, thread)
  weak[object] = true
  stand_ins[object] = setmetatable({ thread }, { __mode = "v" })
end

--- Must one look whether it has come to its end?
function owner.is_mortal(value)
  return type(value) == "thread" or stand_ins[value] ~= nil
end

--- Has it come to its end, without having been collected?
function owner.is_dead(value)
  local thread = value
  if stand_ins[value] then
    thread = stand_ins[value][1]
    if thread == nil then return true end
  end
  return type(thread) == "thread" and status(thread) == "dead"
end

--- A reference that does not keep a weak owner alive: ref() is the owner, or nil once it is collected.
---@return fun(): any
function owner.reference(value)
  if not owner.is_weak(value) then
    return function() return value end
  end
  local box = setmetatable({ value }, { __mode = "v" })
  return function() return box[1] end
end

return owner
