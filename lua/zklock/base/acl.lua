--- acl: which ACLs there are, of the nodes that are made.
local check = require "zklock.base.check"

local acl = {}

--- As the engine counts them.
local NUMBERS = { open = 0, creator = 1, read = 2 }
local NAMES = { open = "open", creator = "creator", read = "read" }

--- One of the words, as the engine's number.
---@param name string of the argument
---@param is_known boolean has the client an identity? Without one there is no creator
---@param level integer as of `check`'s functions
---@return integer
function acl.check(value, name, is_known, level)
  local word = check.word(value, name, NAMES, level + 1)
  if word ~= "open" and not is_known then
    error(("bad argument '%s': '%s' needs options.auth or options.tls: without them there is no creator")
      :format(name, word), level)
  end
  return NUMBERS[word]
end

--- The ACL of a client that names none.
---@return integer
function acl.default(is_known)
  return is_known and NUMBERS.creator or NUMBERS.open
end

return acl
