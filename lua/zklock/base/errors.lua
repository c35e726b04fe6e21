-- SPDX-License-Identifier: MIT
--- errors: turns a raised value into text. Nothing here raises, whatever the error object's
--- __tostring does.
local errors = {}

errors.NO_MEMORY = "not enough memory" -- as Lua itself says it

local NO_TEXT = "(an error that cannot be told)"

local function to_text(err)
  local meta = type(err) == "table" and getmetatable(err)
  if type(err) ~= "table" or type(meta) == "table" and meta.__tostring then return tostring(err) end
  return "(error object is a table value)"
end

--- An error object's __tostring may do anything, even wait. But nginx's `coroutine.resume` suspends
--- the light thread, and a worker crashes if an xpcall's handler does that.
local function try(fn, ...)
  if rawget(_G, "ngx") then
    local text = fn(...)
    return type(text) == "string" and text or nil
  end
  local ok, text = coroutine.resume(coroutine.create(fn), ...)
  return ok and type(text) == "string" and text or nil
end

--- Turns any error into text.
function errors.text(err)
  if type(err) == "string" then return err end
  local ok, text = pcall(try, to_text, err)
  if ok and text then return text end
  ok, text = pcall(string.format, "(error object is a %s value)", type(err))
  return ok and text or NO_TEXT
end

--- The text, with the stack of the coroutine in which the error was raised.
function errors.traceback(thread, err)
  local text = errors.text(err)
  local ok, long = pcall(debug.traceback, thread, text)
  return ok and type(long) == "string" and long or text
end

function errors.handler(err)
  local text = errors.text(err)
  local ok, long = pcall(debug.traceback, text, 2)
  return ok and type(long) == "string" and long or text
end

--- For xpcall, if the error is raised again, which loses its traceback: a text gets it.
function errors.with_traceback(err)
  if type(err) ~= "string" or err == errors.NO_MEMORY or err:find("\nstack traceback:", 1, true) then return err end
  local ok, trace = pcall(debug.traceback, err, 2)
  return ok and trace or err
end

return errors
