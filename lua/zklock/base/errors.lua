--- errors: what was raised, as text. Nothing is raised here, whatever the error object does when it is asked for its
--- text.
local errors = {}

local NO_TEXT = "(an error that cannot be told)"

local function to_text(err)
  local meta = type(err) == "table" and getmetatable(err)
  if type(err) ~= "table" or type(meta) == "table" and meta.__tostring then return tostring(err) end
  return "(error object is a table value)"
end

--- An error object's __tostring may do anything, also wait.
local function try(fn, ...)
  local ok, text = coroutine.resume(coroutine.create(fn), ...)
  return ok and type(text) == "string" and text or nil
end

--- Any error as text.
function errors.text(err)
  if type(err) == "string" then return err end
  local ok, text = pcall(try, to_text, err)
  if ok and text then return text end
  ok, text = pcall(string.format, "(error object is a %s value)", type(err))
  return ok and text or NO_TEXT
end

--- ... with the stack of the coroutine it was raised in.
function errors.traceback(thread, err)
  local text = errors.text(err)
  local ok, long = pcall(debug.traceback, thread, text)
  return ok and type(long) == "string" and long or text
end

--- For xpcall.
function errors.handler(err)
  local text = errors.text(err)
  local ok, long = pcall(debug.traceback, text, 2)
  return ok and type(long) == "string" and long or text
end

return errors
