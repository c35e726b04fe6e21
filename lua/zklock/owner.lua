--- owner: who holds a lock and may release it. By default that is the running coroutine; the main program counts as
--- one.
local owner = {}

--- The main program's stand-in where the language gives it no coroutine (Lua 5.1, LuaJIT).
owner.main = setmetatable({}, {
  __name = "zklock.main",
  __tostring = function() return "the main program" end,
})

--- The owner of a call that names none.
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

--- Has it come to its end, without having been collected?
function owner.is_dead(value)
  return type(value) == "thread" and coroutine.status(value) == "dead"
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
