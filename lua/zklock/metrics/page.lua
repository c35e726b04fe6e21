-- SPDX-License-Identifier: MIT
--- page: the HTML page for operators. It has no script, and everything from outside is escaped.
local view = require "zklock.metrics.view"

--- Seconds until the page loads itself again.
local REFRESH = 5
--- How many paths it shows; and of one path, how many of its holders.
local PATHS_MOST, HOLDERS_MOST = 5000, 3
--- Seconds after which a time needs its date.
local HALF_DAY = 12 * 3600
--- A path that is not longer stands in one piece.
local SHORT = 60

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

--- A text of a part, which is spelled already, as text of the page.
local function html(value)
  return (value:gsub("[&<>\"']", ENTITIES))
end

--- A span of time with its two largest units.
local function span(seconds)
  if seconds < 10 then return ("%.1f s"):format(seconds) end
  if seconds < 60 then return ("%d s"):format(seconds) end
  if seconds < 3600 then return ("%d min %d s"):format(seconds / 60, seconds % 60) end
  if seconds < 86400 then return ("%d h %d min"):format(seconds / 3600, seconds % 3600 / 60) end
  return ("%d d %d h"):format(seconds / 86400, seconds % 86400 / 3600)
end

local function moment(seconds)
  return os.date("!%Y-%m-%d %H:%M:%S", math.floor(seconds))
end

local function bad(words) return ('<b class="bad">%s</b>'):format(words) end

local function cells(name, list)
  return ("<tr><%s>%s</%s></tr>"):format(name, table.concat(list, ("</%s><%s>"):format(name, name)), name)
end

--- A table; nil: it has no rows.
local function table_of(class, heads, rows)
  if #rows == 0 then return nil end
  return ('<div class="wide"><table class="%s">\n%s\n%s\n</table></div>'):format(class, cells("th", heads),
    table.concat(rows, "\n"))
end

-- ---- the clients ----------------------------------------------------------------------------------------------------

local function runs_of(runs)
  local failed = ("%d failed"):format(runs.failed)
  return ("%d ran, %d skipped, %s"):format(runs.ran, runs.skipped, runs.failed > 0 and bad(failed) or failed)
end

local function row_of_client(part, client)
  local worker = part.number and ("%s, %s"):format(part.number, html(part.worker)) or html(part.worker)
  return cells("td", { worker .. (part.is_leaving and " (leaves)" or ""),
    client.client .. (client.chroot ~= "" and ", chroot " .. html(client.chroot) or ""),
    client.state == "connected" and client.state or bad(html(client.state)), span(client.session_timeout),
    tostring(client.held), tostring(client.waiting), tostring(client.lost), runs_of(client.runs) })
end

local function table_of_clients(self)
  local rows = {}
  for _, part in ipairs(self.parts) do
    for _, client in ipairs(part.clients) do rows[#rows + 1] = row_of_client(part, client) end
  end
  for _, name in ipairs(self.silent) do
    local number, pid = name:match("^(.*)|(%d+)$")
    rows[#rows + 1] = cells("td", { ("%s, %s:%s"):format(html(number or name), html(self.host), pid or "-"), "",
      bad("no answer"), "", "", "", "", "" })
  end
  return table_of("clients", { "worker", "client", "state", "session timeout", "held", "waiting", "lost",
    "runs" }, rows)
    or "<p>No worker shares a client.</p>"
end

-- ---- the locks ------------------------------------------------------------------------------------------------------

--- A path is broken in front of a component, never inside one.
local function path_of(path)
  if #path <= SHORT then return html(path) end
  return '<div class="long">' .. html(path):gsub("/?[^/]+", "<span>%0</span><wbr>") .. "</div>"
end

--- The lines of a cell, one for each of the oldest holders, so that those of all cells are in a row.
local function lines_of(holds, write)
  local lines = {}
  for i = 1, math.min(#holds, HOLDERS_MOST) do lines[i] = write(holds[i]) end
  if #holds == 1 then return lines[1] end
  return "<span>" .. table.concat(lines, "<br>") .. "</span>"
end

local function kinds_of(row)
  local kinds, known = {}, {}
  for _, list in ipairs { row.holds, row.waits } do
    for _, lock in ipairs(list) do
      if not known[lock.kind] then kinds[#kinds + 1] = lock.kind end
      known[lock.kind] = true
    end
  end
  return table.concat(kinds, ", ")
end

--- A client of this nginx that holds or waits.
local function someone(lock)
  return ("<span>%s</span> (%s)"):format(html(lock.worker), html(lock.owner))
end

--- Where nobody of this nginx holds: what its waiters know.
local function holder_elsewhere(row)
  for _, lock in ipairs(row.waits) do
    if lock.holder then return ("<span>%s</span>"):format(html(lock.holder)) end
  end
  local first = row.waits[1]
  return first.position == 0 and "nobody" or first.position and "elsewhere" or ""
end

--- The nodes in front of a waiter, as far as they are known. Nothing is read for this.
local function front_of(lock)
  if not lock.position then return html(lock.why or "") end
  if lock.position == 0 then return "nobody is in front" end
  local next_node = ", next:%s <span>%s</span>"
  return lock.position .. " in front" .. (lock.next and next_node:format(lock.is_own and " this client's" or "",
    html(lock.next)) or "")
end

local function age_of(self, lock)
  return span(math.max(0, self.now - lock.at))
end

local function since_of(self, lock)
  local is_recent = self.now - lock.at < HALF_DAY
  return ("%s (%s)"):format(moment(view.since(self, lock)):sub(is_recent and -8 or 1), age_of(self, lock))
end

local function validity_of(self, lock)
  local validity = view.validity(self, lock)
  return validity > 0 and ("%.1f s"):format(validity) or bad("0")
end

local function row_of_path(self, row)
  local holds, first, waits = row.holds, row.waits[1], { "", "", "" }
  if first then
    local front = front_of(first)
    waits = { tostring(#row.waits), age_of(self, first), someone(first) .. (front ~= "" and ", " .. front or "") }
  end
  if not holds[1] then
    return cells("td", { path_of(row.path), kinds_of(row), holder_elsewhere(row), "", "", "", unpack(waits) })
  end
  local more = #holds - HOLDERS_MOST
  return cells("td", {
    path_of(row.path), kinds_of(row),
    lines_of(holds, someone) .. (more > 0 and ("<br>and %d more"):format(more) or ""),
    lines_of(holds, function(lock) return lock.token end),
    lines_of(holds, function(lock) return since_of(self, lock) end),
    lines_of(holds, function(lock) return validity_of(self, lock) end),
    unpack(waits),
  })
end

local function table_of_locks(self)
  local rows, lines = {}, {}
  for i = 1, math.min(#self.paths, PATHS_MOST) do rows[i] = row_of_path(self, self.paths[i]) end
  lines[1] = table_of("locks", { "path", "kind", "held by", "token", "since (UTC)", "valid for", "waiting",
    "longest", "who waits longest" }, rows)
    or self.parameters.filter == "" and "<p>Nothing is held or waited for.</p>"
    or "<p>Nothing that is held or waited for matches the filter.</p>"
  if #self.paths > PATHS_MOST then
    lines[#lines + 1] = ("<p>These are %d paths of %d: use the filter.</p>"):format(PATHS_MOST, #self.paths)
  end
  local held, waiting = self.more.held, self.more.waiting
  if held + waiting > 0 then
    lines[#lines + 1] = ('<p class="bad">There are %d more: %d held, %d waiting. The shared dictionary has no room '
      .. "for them: make it larger.</p>"):format(held + waiting, held, waiting)
  end
  return table.concat(lines, "\n")
end

--- A link to the page as it is, but for these parameters.
local function link(self, words, changes)
  local query = {}
  for _, name in ipairs { "filter", "still", "format" } do
    local value = changes[name] or self.parameters[name]
    if value and value ~= "" then query[#query + 1] = name .. "=" .. ngx.escape_uri(value) end
  end
  return ('<a href="?%s">%s</a>'):format(html(table.concat(query, "&")), words)
end

local function filter_form(self)
  local still = self.parameters.still
  return ('<form method="get"><label>Part of a path, kind, owner or HOST:PID: <input name="filter" value="%s"></label> '
    .. '<input type="hidden" name="still" value="%s"><button>Filter</button> %s %s %s</form>')
    :format(html(self.parameters.filter), html(still), link(self, "all", { filter = "" }),
      link(self, "JSON", { format = "json" }),
      still == "" and link(self, "stand still", { still = "yes" }) or link(self, "go on", { still = "" }))
end

-- ---- the events -----------------------------------------------------------------------------------------------------

local function table_of_events(events)
  local rows = {}
  for i, event in ipairs(events) do
    rows[i] = cells("td", { moment(event.time), html(event.worker), event.kind, html(event.said) })
  end
  return table_of("events", { "time (UTC)", "worker", "event", "" }, rows) or "<p>None so far.</p>"
end

-- ---- the whole ------------------------------------------------------------------------------------------------------

local HEAD = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
%s
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>zklock on %s</title>
<style>
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 1.5em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5em 0; }
th, td { text-align: left; vertical-align: top; padding: .2em .8em .2em 0; border-bottom: 1px solid #8884; }
th, td, span { white-space: nowrap; }
.long, .locks td:nth-child(3), .locks td:nth-child(9), .events td:nth-child(4) { white-space: normal; }
th { font-weight: 600; } .bad { color: #d22; } footer { margin-top: 2em; opacity: .7; }
</style>
</head>
<body>
<h1>zklock on %s</h1>
]]

---@param self zklock.metrics.View
---@return string html
return function(self)
  local host = html(self.host)
  local is_still = self.parameters.still ~= ""
  local refresh = is_still and "" or ('<meta http-equiv="refresh" content="%d">'):format(REFRESH)
  local lines = { HEAD:format(refresh, host, host) }
  if self.errors > 0 then
    lines[#lines + 1] = ('<p class="bad">The shared dictionary has refused %d writes, or another user of it has '
      .. "evicted numbers: the metrics are not complete. Make it larger, or its own.</p>"):format(self.errors)
  end
  for _, section in ipairs { "<h2>Locks</h2>", filter_form(self), table_of_locks(self), "<h2>Clients</h2>",
    table_of_clients(self), "<h2>Latest events</h2>", table_of_events(self.events) } do
    lines[#lines + 1] = section
  end
  lines[#lines + 1] = ("<footer>%s UTC. %s It sends nothing to the servers.</footer>\n</body>\n</html>\n")
    :format(moment(self.time), is_still and "This page stands still."
      or ("This page loads itself again every %d seconds."):format(REFRESH))
  return table.concat(lines, "\n")
end
