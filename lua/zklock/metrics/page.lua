-- SPDX-License-Identifier: MIT
--- page: the HTML page for operators, in parts. Each worker writes a part about its own clients;
--- the worker that serves the page puts them together. The page has no script, and everything from
--- outside is escaped.
local text = require "zklock.base.text"

local page = {}

--- How many holds and waits a worker shows; bytes of a path, and of other texts, that it shows.
local ROWS_MOST, PATH_BYTES, TEXT_BYTES = 100, 600, 120
--- Seconds until the page loads itself again.
page.REFRESH = 5

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

--- A value as text of the page: characters that are not seen are spelled, and none is markup.
---@param value any passed through tostring
---@param most integer? bytes
---@return string
local function shown(value, most)
  return (text.shown(value, most or TEXT_BYTES):gsub("[&<>\"']", ENTITIES))
end
page.shown = shown

-- ---- what the clients hold and wait for -----------------------------------------------------------------------------

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

--- The holds and waits of these clients, the oldest first.
---@return { hold: zklock.Hold, age: number, is_held: boolean }[] rows
---@return integer held
---@return integer waiting
local function rows_of(clients)
  local rows, held = {}, 0
  for _, client in ipairs(clients) do
    local list, count = client.holds:list()
    for i = 1, count do
      local hold = list[i]
      local is_held = hold.state == "held"
      if not is_held and hold.state == "waiting" or is_held and hold.contender:held() then
        rows[#rows + 1] = { hold = hold, age = hold.contender:since() or 0, is_held = is_held }
        held = held + (is_held and 1 or 0)
      end
    end
  end
  table.sort(rows, function(a, b) return a.age > b.age end)
  return rows, held, #rows - held
end

local function owner_of(hold)
  local who = hold.whose[1]
  if rawequal(who, nil) then return "(collected)" end
  if hold.leases then return "a lease" end
  local class = getmetatable(who)
  -- rawget: a class of the script may raise for members that it lacks
  if type(class) == "table" and rawget(class, "__name") == "zklock.Request" then return "lock:request" end
  local ok, name = pcall(tostring, who) -- the script's value: anything may happen
  return shown(ok and name or type(who))
end

local function path_of(lock_path)
  local paths = lock_path.paths
  if not paths then return shown(lock_path.path, PATH_BYTES) end
  local size, parts = 0, {}
  for i, path in ipairs(paths) do
    if size > PATH_BYTES then
      parts[i] = ("... %d paths"):format(#paths)
      break
    end
    size, parts[i] = size + #path, shown(path, PATH_BYTES)
  end
  return table.concat(parts, "<br>")
end

--- What is known of the nodes in front of a waiter. Nothing is read for this.
local function front_of(hold)
  local node, ahead, is_own, holder = hold.contender:front()
  if not ahead then return "" end
  if ahead == 0 then return "nobody" end
  local whose = is_own and " (of this client)" or ""
  local first = holder ~= "" and "; first: " .. shown(holder) or ""
  return ("%d, next %s%s%s"):format(ahead, shown(node), whose, first)
end

local function cells(name, list)
  return ("<tr><%s>%s</%s></tr>"):format(name, table.concat(list, ("</%s><%s>"):format(name, name)), name)
end

local function row_of(row, now)
  local hold = row.hold
  local lock_path = hold.lock_path
  local validity = row.is_held and hold.contender:validity()
  return cells("td", {
    row.is_held and "holds" or "waits",
    path_of(lock_path),
    lock_path.node and lock_path.kind == "rwlock" and lock_path.node or lock_path.kind,
    owner_of(hold),
    row.is_held and ("%d"):format(hold.token) or "",
    ("%s (%s)"):format(moment(now - row.age), span(row.age)),
    row.is_held and (validity > 0 and ("valid for %.1f s"):format(validity) or '<b class="bad">validity 0</b>')
      or front_of(hold),
  })
end

local function table_of_holds(clients, now)
  local rows, held, waiting = rows_of(clients)
  if #rows == 0 then return "<p>Nothing is held or waited for.</p>" end
  local lines = { '<table class="locks">', cells("th", { "", "path", "kind", "owner", "token", "since (UTC)",
    "validity, or who is in front" }) }
  for i = 1, math.min(#rows, ROWS_MOST) do
    lines[#lines + 1] = row_of(rows[i], now)
    if rows[i].is_held then held = held - 1 else waiting = waiting - 1 end
  end
  lines[#lines + 1] = "</table>"
  if #rows > ROWS_MOST then
    lines[#lines + 1] = ("<p>These are the %d oldest. There are %d more: %d held, %d waiting.</p>")
      :format(ROWS_MOST, held + waiting, held, waiting)
  end
  return table.concat(lines, "\n")
end

-- ---- the part of a worker -------------------------------------------------------------------------------------------

local function table_of_clients(clients)
  local lines = { "<table>", cells("th", { "client", "state", "session timeout", "held", "waiting", "lost" }) }
  for i, client in ipairs(clients) do
    local native = client.native
    local state, stats = native:state(), native:stats()
    local name = client.chroot == "" and "" or ", chroot " .. shown(client.chroot, PATH_BYTES)
    lines[#lines + 1] = cells("td", { i .. name,
      state == "connected" and state or ('<b class="bad">%s</b>'):format(state), span(native:session_timeout()),
      tostring(stats.held), tostring(stats.waiting), tostring(stats.lost) })
  end
  lines[#lines + 1] = "</table>"
  return table.concat(lines, "\n")
end

local function heading()
  local slot, is_leaving = ngx.worker.id(), ngx.worker.exiting()
  return ("<section>\n<h2>Worker %s, process %d%s</h2>\n"):format(slot or "without a number", ngx.worker.pid(),
    is_leaving and ", which leaves" or "")
end

--- The part about this worker's clients.
---@param clients zklock.Client[]
---@return string html
function page.part(clients)
  return heading() .. table_of_clients(clients) .. "\n" .. table_of_holds(clients, ngx.now()) .. "\n</section>"
end

--- A part for a dictionary that has no room for the whole one.
---@return string html
function page.short_part(clients)
  return heading() .. table_of_clients(clients)
    .. '\n<p class="bad">The shared dictionary has no room for the list of locks.</p>\n</section>'
end

-- ---- the events -----------------------------------------------------------------------------------------------------

--- An event as the dictionary keeps it.
---@param kind "lost"|"state"|"slow"
---@param said string
---@return string
function page.event(kind, said)
  return ("%d|%s|%d|%s|%s"):format(ngx.time(), ngx.worker.id() or "-", ngx.worker.pid(), kind, said)
end

local function table_of_events(events)
  if #events == 0 then return "<p>None so far.</p>" end
  local lines = { "<table>", cells("th", { "time (UTC)", "worker", "event", "" }) }
  for _, event in ipairs(events) do
    local time, slot, pid, kind, said = event:match("^(%d+)|([^|]*)|(%d+)|(%l+)|(.*)$")
    if time then
      lines[#lines + 1] = cells("td", { moment(tonumber(time)), ("%s, process %s"):format(shown(slot), pid), kind,
        shown(said, PATH_BYTES) })
    end
  end
  lines[#lines + 1] = "</table>"
  return table.concat(lines, "\n")
end

-- ---- the whole ------------------------------------------------------------------------------------------------------

local HEAD = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="%d">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>zklock on %s</title>
<style>
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 1.5em; }
table { border-collapse: collapse; margin: .5em 0; }
th, td { text-align: left; vertical-align: top; padding: .2em .8em .2em 0; border-bottom: 1px solid #8884; }
.locks td { white-space: nowrap; }
.locks td:nth-child(2), .locks td:nth-child(4), .locks td:nth-child(7) { white-space: normal; overflow-wrap: anywhere; }
th { font-weight: 600; } .bad { color: #d22; } footer { margin-top: 2em; opacity: .7; }
</style>
</head>
<body>
<h1>zklock on %s</h1>
]]

--- The whole page.
---@param parts table<string, string> by worker
---@param workers table<string, any> by worker: those that a part is expected of
---@param events string[] the newest first
---@param errors integer
---@return string html
function page.whole(parts, workers, events, errors)
  local host = shown(ngx.var.hostname)
  local lines, names = { HEAD:format(page.REFRESH, host, host) }, {}
  for name in pairs(workers) do names[#names + 1] = name end
  for name in pairs(parts) do
    if not workers[name] then names[#names + 1] = name end
  end
  table.sort(names, function(a, b)
    local x, y = tonumber(a:match("^%d+")) or -1, tonumber(b:match("^%d+")) or -1
    return x < y or x == y and a < b
  end)
  if errors > 0 then
    lines[#lines + 1] = ('<p class="bad">The shared dictionary has refused %d writes, or another user of it has '
      .. "evicted numbers: the metrics are not complete. Make it larger, or its own.</p>"):format(errors)
  end
  for _, name in ipairs(names) do
    lines[#lines + 1] = parts[name] or ("<section>\n<h2>Worker %s</h2>\n<p class=\"bad\">No answer.</p>\n</section>")
      :format(shown((name:gsub("|", ", process "))))
  end
  if #names == 0 then lines[#lines + 1] = "<p>No worker shares a client.</p>" end
  lines[#lines + 1] = "<section>\n<h2>Latest events</h2>\n" .. table_of_events(events) .. "\n</section>"
  lines[#lines + 1] = ("<footer>%s UTC. This page loads itself again every %d seconds. It sends nothing to the "
    .. "servers.</footer>\n</body>\n</html>\n"):format(moment(ngx.now()), page.REFRESH)
  return table.concat(lines, "\n")
end

return page
