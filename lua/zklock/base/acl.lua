-- SPDX-License-Identifier: MIT
--- acl: the ACLs that the client can give to the nodes that it creates.
local check = require "zklock.base.check"

local acl = {}

--- The engine's numbers.
local NUMBERS = { open = 0, creator = 1, read = 2 }
local NAMES = { open = "open", creator = "creator", read = "read" }

--- Checks an ACL's name and returns the engine's number for it.
---@param name string of the argument
---@param is_known boolean whether the client has an identity; without one there is no creator
---@return integer
function acl.check(value, name, is_known)
  local word = check.word(value, name, NAMES)
  if word ~= "open" and not is_known then
    check.wrong(name, ("'%s' needs options.auth or options.tls: without them there is no creator"):format(word))
  end
  return NUMBERS[word]
end

--- The ACL if the caller names none.
---@return integer
function acl.default(is_known)
  return is_known and NUMBERS.creator or NUMBERS.open
end

return acl
