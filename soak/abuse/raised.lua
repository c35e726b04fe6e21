-- SPDX-License-Identifier: MIT
--- raised: errors of every kind that a script may raise, and whether one that arrives is ours.
local raised = {}

local MARK = "raised by the soak"

local unspeakable = setmetatable({}, { __tostring = function() error(MARK .. ", by __tostring", 0) end })
local mute = setmetatable({}, { __tostring = function() return 42 end }) -- which is no text
local plain = { MARK }

local KINDS = {
  function() error(MARK, 0) end,
  function() error(MARK) end,
  function() error(plain, 0) end,
  function() error(nil, 0) end,
  function() error(unspeakable, 0) end,
  function() error(mute, 0) end,
  function() error(false, 0) end,
}

--- Raises one of them.
function raised.any()
  return KINDS[math.random(#KINDS)]()
end

--- The texts that stand for errors that are no texts.
local UNSPOKEN = { "^nil$", "^<no error object>$", "^false$", "^42$", "^%(error object is a %a+ value%)$",
  "^%(an error that cannot be told%)$", "error in error handling$", -- a hook came into a handler
  "cannot be loaded: " } -- or while connect looked for its loop

--- Nobody else raises something that is not a text.
function raised.is_ours(err)
  if type(err) ~= "string" then return true end
  if err:find(MARK, 1, true) then return true end
  local first = err:match("^[^\n]*")
  for _, pattern in ipairs(UNSPOKEN) do
    if first:find(pattern) then return true end
  end
  return false
end

--- A hook that raises once, at a place that chance says.
function raised.set_hook()
  local left, kind = math.random(400), math.random(4)
  local function hook()
    left = left - 1
    if left > 0 then return end
    debug.sethook()
    raised.any()
  end
  if kind == 1 then debug.sethook(hook, "", 1) end
  if kind == 2 then debug.sethook(hook, "c") end
  if kind == 3 then debug.sethook(hook, "r") end
  if kind == 4 then
    left = 1
    debug.sethook(hook, "", math.random(2000))
  end
end

return raised
