-- SPDX-License-Identifier: MIT
--- page_json: what the page for operators shows, as JSON for programs. Its texts are spelled as on
--- the page: what is not seen, or is not UTF-8, becomes its bytes, `\x1b`.
local view = require "zklock.metrics.view"

local function text(value)
  return value and '"' .. value:gsub('[\\"]', "\\%0") .. '"' or "null"
end

local function number(value)
  return value and ("%.3f"):format(value):gsub("%.?0+$", "") or "null"
end

--- `fields` alternates names and values that are JSON already.
local function object(...)
  local members = {}
  for i = 1, select("#", ...), 2 do
    local name, value = select(i, ...)
    members[#members + 1] = ('"%s": %s'):format(name, value)
  end
  return "{ " .. table.concat(members, ", ") .. " }"
end

local function array(list)
  return #list == 0 and "[]" or "[\n" .. table.concat(list, ",\n") .. "\n]"
end

local function clients_of(self)
  local list = {}
  for _, part in ipairs(self.parts) do
    for _, client in ipairs(part.clients) do
      list[#list + 1] = object("worker", text(part.worker), "leaving", tostring(part.is_leaving), "client",
        client.client, "chroot", text(client.chroot), "state", text(client.state), "session_timeout",
        number(client.session_timeout), "held", client.held, "waiting", client.waiting, "lost", client.lost,
        "runs", object("ran", client.runs.ran, "skipped", client.runs.skipped, "failed", client.runs.failed))
    end
  end
  return list
end

local function add_locks(self, locks, list)
  for _, lock in ipairs(locks) do
    list[#list + 1] = object("path", text(lock.path), "kind", text(lock.kind), "worker", text(lock.worker), "state",
      text(lock.state), "owner", text(lock.owner), "token", text(lock.token), "since", number(view.since(self, lock)),
      "validity", number(view.validity(self, lock)), "position", lock.position or "null", "front",
      text(lock.holder or lock.next))
  end
end

local function locks_of(self)
  local list = {}
  for _, row in ipairs(self.paths) do
    add_locks(self, row.holds, list)
    add_locks(self, row.waits, list)
  end
  return list
end

local function events_of(self)
  local list = {}
  for _, event in ipairs(self.events) do
    list[#list + 1] = object("time", event.time, "worker", text(event.worker), "event",
      text(event.kind .. ": " .. event.said))
  end
  return list
end

---@param self zklock.metrics.View
---@return string json
return function(self)
  return object("clients", array(clients_of(self)), "locks", array(locks_of(self)), "events", array(events_of(self)))
    .. "\n"
end
