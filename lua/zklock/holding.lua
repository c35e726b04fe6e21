-- SPDX-License-Identifier: MIT
--- holding: what a request, a lease, and the hold that the function of a job gets answer alike about
--- the hold that they stand for.
local check = require "zklock.base.check"
local node_requests = require "zklock.nodes.node_requests"

---@class zklock.Holding
---@field token fun(self): integer? the fencing token; nil when it is not held
---@field nodes fun(self): string[]? as `lock:nodes`; nil when it is not held
---@field validity fun(self): number seconds, as `lock:validity`; 0 when it is not held
---@field is_held fun(self): boolean true while it is held and `validity` is above 0
---@field multi fun(self, list: table[], timeout: number?): (string|zklock.Stat|true)[]?, string?, integer|string|nil as
---  `lock:multi`

--- Gives a class these methods.
---@param class table its objects have a `client`
---@param word string how a script writes such an object
---@param current fun(self): zklock.Hold|false|nil the hold; none once the object has let go of it
---@param find fun(self): zklock.Hold?, string? the hold, for a guarded write; or nil and why there is none
return function(class, word, current, find)
  local names = {}
  for _, method in ipairs { "token", "nodes", "validity", "is_held", "multi" } do
    names[method] = word .. ":" .. method
  end

  function class:token()
    check.self(self, class, names.token)
    local hold = current(self)
    return hold and hold:is_open() and hold.token or nil
  end

  function class:nodes()
    check.self(self, class, names.nodes)
    local hold = current(self)
    local nodes = hold and hold:is_open() and hold.contender:nodes()
    return nodes and nodes[1] and nodes or nil
  end

  function class:validity()
    check.self(self, class, names.validity)
    local hold = current(self)
    return hold and hold:validity() or 0
  end

  function class:is_held()
    check.self(self, class, names.is_held)
    return self:validity() > 0
  end

  function class:multi(list, timeout)
    check.self(self, class, names.multi)
    return node_requests.guarded(self.client, list, timeout, find, self)
  end
end
