--- loop: who waits, and how: one adapter for each event loop. An adapter knows nothing of locks. docs/loops.md is its
--- contract.
---
--- Required:
---   name                  a string
---   wait(client, waiter)  suspends the caller until `waiter.done` is true or `waiter:left()` is 0; where the caller
---                         cannot be suspended, `require("zklock.loop.blocking").wait(client, waiter)` does
---   wake(waiter)          `waiter.done` has just become true: resumes who waits for it, soon, but not inside
---                         this call, and nobody whose `wait` has raised
--- Optional:
---   unfit()               why no client can be made here and now (connect raises it), or nil
---   can_wait()            true; or nil and the error that every waiting call answers here and now, and what to do
---                         instead
---   watch(client, ready)  from now on the loop calls `ready()` when client:getfd() is readable; returns the function
---                         that ends that, and which may call its argument itself when it has let go of the
---                         descriptor, and then returns true. It may keep `ready`, but not the client, which must
---                         stay collectable
---   spawn(client, fn)     runs fn in a coroutine of its own in which the loop's waits work; false: cannot now
---   settle(client)        returns when all that `spawn` was given has begun, if the caller can be suspended
---   owner(client, by_thread)  the owner of a call that names none; by_thread: of a lock with `owner = "thread"`
---   tie(client, request)  a lock's request was made: where what runs is for somebody (a request of nginx's), it calls
---                         `request:abandon()` at his end
---   attend(client)        there is something to tell that no call waits for: `ready()` is to be called from now on
---   is_gone(waiter)       the host has ended the coroutine that waits, and told nobody
---   look(client)          a caller looks how things stand, without a wait: where nobody calls `ready()`, the adapter
---                         may do so itself
---   note(line)            of the log of a host: a loss, a change of state for the worse
---   report(message)       an error in a callback, where `on_error` is not set
---   background            true: the host must not be held up: `connect` does not wait unless it is told to, `close`
---                         never does, and the session ends behind the scenes

local text = require "zklock.base.text"

local loop = {}

local FIELDS = {
  name = "string",
  wait = "function",
  wake = "function",
  unfit = "function?",
  can_wait = "function?",
  watch = "function?",
  spawn = "function?",
  settle = "function?",
  owner = "function?",
  tie = "function?",
  attend = "function?",
  is_gone = "function?",
  look = "function?",
  note = "function?",
  report = "function?",
  background = "boolean?",
}

--- The adapters that come with zklock. Loaded when asked for: they need their loop.
local MODULES = {
  blocking = "zklock.loop.blocking",
  copas = "zklock.loop.copas",
  cqueues = "zklock.loop.cqueues",
  luv = "zklock.loop.luv",
  openresty = "zklock.loop.openresty",
}

--- In nginx a wait that blocks would stop a whole worker.
function loop.default()
  local ngx = rawget(_G, "ngx")
  return type(ngx) == "table" and ngx.get_phase and "openresty" or "blocking"
end

local function refuse(why, level)
  error(("bad argument 'options.loop': %s"):format(why), level + 1)
end

local function names()
  local list = {}
  for name in pairs(MODULES) do list[#list + 1] = "'" .. name .. "'" end
  table.sort(list)
  return table.concat(list, ", ")
end

local function named(name, level)
  local module = MODULES[name]
  if not module then
    refuse(("%s or an adapter table expected, got '%s'"):format(names(), text.shown(name)), level + 1)
  end
  local ok, adapter = pcall(require, module)
  if not ok then refuse(("'%s' cannot be loaded: %s"):format(name, tostring(adapter)), level + 1) end
  return adapter
end

local function check_fields(adapter, level)
  for field, expected in pairs(FIELDS) do
    local got = type(adapter[field])
    local wanted = expected:match("^%a+")
    if got ~= wanted and not (expected:find("?", 1, true) and got == "nil") then
      refuse(("the adapter's field '%s' must be a %s%s, is %s"):format(field, wanted,
        wanted == expected and "" or " or nil", got == "nil" and "missing" or "a " .. got), level + 1)
    end
  end
end

--- The adapter for `options.loop`; raises for what is none, and where no client can be made.
---@param value string|table|nil
---@param level integer of connect's caller, seen from here
function loop.choose(value, level)
  if value == nil then value = loop.default() end
  local adapter = value
  if type(value) == "string" then
    adapter = named(value, level)
  elseif type(value) ~= "table" then
    refuse(("%s or an adapter table expected, got %s"):format(names(), type(value)), level)
  end
  check_fields(adapter, level)
  local unfit = adapter.unfit and adapter.unfit()
  if unfit then error(unfit, level) end
  return adapter
end


return loop
