-- SPDX-License-Identifier: MIT
--- reporter: reports an error that a callback has raised. Whatever `on_error` and stderr do,
--- nothing raises here: the client's other callbacks must still run.
local errors = require "zklock.base.errors"

---@class zklock.Reporter
local Reporter = {}
Reporter.__index = Reporter

---@param on_error fun(message: string)? the script's
---@param loop table the adapter, which may have a `report`
function Reporter.new(on_error, loop)
  return setmetatable({ on_error = on_error or false, loop = loop }, Reporter)
end

local function write(...)
  local stderr = io.stderr
  stderr:write(...)
end

--- Reports to `on_error`. If there is none, or it fails, to the loop; if the loop cannot, to
--- stderr.
---@param text string
function Reporter:tell(text)
  local middle, second = "", ""
  if self.on_error then
    local ok, err = pcall(self.on_error, text)
    if ok then return end
    middle, second = "\non_error raised: ", errors.text(err)
  end
  local head, told = "zklock: error in a callback: ", false
  if self.loop.report then
    told = pcall(function() self.loop.report(head .. text .. middle .. second) end)
  end
  if not told then pcall(write, head, text, middle, second, "\n") end
end

return Reporter
