--- report: what becomes of an error that a callback raised. Nothing leaves it, whatever the error object, `on_error`,
--- and stderr do: those who wait beside it have nothing to do with that.
local report = {}

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
function report.text(err)
  if type(err) == "string" then return err end
  local ok, text = pcall(try, to_text, err)
  if ok and text then return text end
  ok, text = pcall(string.format, "(error object is a %s value)", type(err))
  return ok and text or NO_TEXT
end

--- ... with the stack of the coroutine it was raised in.
function report.traceback(thread, err)
  local text = report.text(err)
  local ok, long = pcall(debug.traceback, thread, text)
  return ok and type(long) == "string" and long or text
end

--- For xpcall.
function report.handler(err)
  local text = report.text(err)
  local ok, long = pcall(debug.traceback, text, 2)
  return ok and type(long) == "string" and long or text
end

local function write(...)
  local stderr = io.stderr
  stderr:write(...)
end

--- Tells it to `on_error`; where there is none, or it fails, to the loop; where that has no way of its own, to stderr.
---@param text string
function report.tell(client, text)
  local handler, middle, second = client.handle_error, "", ""
  if handler then
    local ok, err = pcall(handler, text)
    if ok then return end
    middle, second = "\non_error raised: ", report.text(err)
  end
  local head, told = "zklock: error in a callback: ", false
  if client.loop.report then
    told = pcall(function() client.loop.report(head .. text .. middle .. second) end)
  end
  if not told then pcall(write, head, text, middle, second, "\n") end
end

return report
