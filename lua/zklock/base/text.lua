-- SPDX-License-Identifier: MIT
--- text: makes text of foreign origin (paths, names, lines of a log) safe for messages and
--- terminals. Characters that would move the cursor, begin a line or change the direction of
--- writing, and those that nobody sees, are shown as their bytes: `\x1b`. csrc/base/text.c has the
--- list.
local core = require "zklock.core"

local text = {}

local SHOWN = 100 -- bytes

--- True if all of a text is UTF-8.
---@type fun(s: string): boolean
text.is_utf8 = core.is_utf8

--- Makes all of a text safe to show.
---@param s string
---@return string
function text.escape(s) return core.show(s, math.huge) end

--- The same, but newlines and tabs stay.
---@param s string
---@return string
function text.escape_lines(s) return core.show(s, math.huge, true) end

--- Makes a value safe to show inside a message, truncated.
---@param value any passed through tostring
---@param most integer? bytes; default SHOWN
---@return string
function text.shown(value, most) return core.show(tostring(value), most or SHOWN) end

return text
