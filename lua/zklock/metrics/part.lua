-- SPDX-License-Identifier: MIT
--- part: what one nginx worker shows of its clients: their states, and what they hold and wait for.
--- Each worker writes its part into the shared dictionary as lines of fields. The worker that
--- answers a request reads the parts of all. Every text is spelled for people when it is written.
local core = require "zklock.core"
local text = require "zklock.base.text"

local part = {}

--- How many holds and waits a part has at most; bytes of an event, and of other texts. Paths are whole: rows are told
--- apart by them.
local ROWS_MOST, EVENT_BYTES, TEXT_BYTES, WHY_BYTES = 5000, 1000, 120, 300

---@class zklock.metrics.PartClient
---@field client string its number in the worker, from 1
---@field chroot string
---@field state string
---@field session_timeout number
---@field held integer
---@field waiting integer
---@field lost integer
---@field runs { ran: integer, skipped: integer, failed: integer } of jobs and `client:once`

---@class zklock.metrics.PartLock a hold or a wait at one path; a multilock is one at each of its paths
---@field state "holds"|"waits"
---@field path string with the client's chroot
---@field kind string "mutex", "read", "write", "multilock" or "semaphore"
---@field owner string
---@field token string? of a hold
---@field at number when it began to wait or to hold, by `core.now`
---@field valid_until number? of a hold, by `core.now`
---@field position integer? of a wait: how many nodes are in front, if the client knows it
---@field next string? the name of the nearest of these
---@field is_own boolean that node is this client's, too
---@field holder string? the identifier of the first one in line, if the client has read it
---@field why string? of a wait whose position is not known: why it waits
---@field worker string HOST:PID

---@class zklock.metrics.Part
---@field worker string HOST:PID
---@field number string? of the worker; nil: it has none
---@field is_leaving boolean
---@field clients zklock.metrics.PartClient[]
---@field locks zklock.metrics.PartLock[] the oldest first
---@field more { held: integer, waiting: integer } of which there was no room for

-- ---- what a worker has ----------------------------------------------------------------------------------------------

--- The holds and waits of these clients, the oldest first.
---@return { hold: zklock.Hold, client: zklock.Client, age: number, is_held: boolean }[]
local function rows_of(clients)
  local rows = {}
  for _, client in ipairs(clients) do
    local list, count = client.holds:list()
    for i = 1, count do
      local hold = list[i]
      local is_held = hold.state == "held"
      if not is_held and hold.state == "waiting" or is_held and hold.contender:held() then
        rows[#rows + 1] = { hold = hold, client = client, age = hold.contender:since() or 0, is_held = is_held }
      end
    end
  end
  table.sort(rows, function(a, b) return a.age > b.age end)
  return rows
end

--- Owners that zklock itself makes, by the names of their classes.
local OWNERS = { ["zklock.Request"] = "lock:request", ["zklock.Job"] = "client:job" }

local function owner_of(hold)
  local who = hold.whose[1]
  if rawequal(who, nil) then return "(collected)" end
  if hold.leases then return "a lease" end
  local class = getmetatable(who)
  -- rawget: a class of the script may raise for members that it lacks
  local ours = type(class) == "table" and OWNERS[rawget(class, "__name")]
  if ours then return ours end
  local ok, name = pcall(tostring, who) -- the script's value: anything may happen
  return text.shown(ok and name or type(who), TEXT_BYTES)
end

local function line(...)
  return table.concat({ ... }, "\t")
end

--- The lines of a hold or a wait: one for each path.
local function lines_of(row, now)
  local hold, lock_path = row.hold, row.hold.lock_path
  local contender = hold.contender
  local kind = lock_path.kind == "rwlock" and lock_path.node or lock_path.kind
  local token, valid_until, position, next_node, is_own, holder, why = "", "", "", "", "", "", ""
  if row.is_held then
    token, valid_until = ("%d"):format(hold.token), ("%.3f"):format(now + contender:validity())
  else
    local node, ahead, own, first = contender:front()
    if ahead then
      position, next_node, is_own = ("%d"):format(ahead), node and text.shown(node, TEXT_BYTES) or "", own and "1" or ""
      holder = text.shown(first, TEXT_BYTES)
    else
      why = text.shown(contender:why() or "", WHY_BYTES)
    end
  end
  local made = {}
  for i, path in ipairs(lock_path.paths or { lock_path.path }) do
    made[i] = line("L", row.is_held and "holds" or "waits", text.escape(row.client.chroot .. path), kind,
      owner_of(hold), token, ("%.3f"):format(now - row.age), valid_until, position, next_node, is_own, holder, why)
  end
  return made
end

local function line_of_client(i, client)
  local native = client.native
  local stats = native:stats()
  return line("C", i, text.escape(client.chroot), native:state(), ("%.3f"):format(native:session_timeout()),
    stats.held, stats.waiting, stats.lost, stats.runs.ran, stats.runs.skipped, stats.runs.failed)
end

--- Adds the lines of the oldest holds and waits for which there is room.
local function add_rows(lines, rows, room)
  local now, count, size = core.now(), 0, 0
  local held, waiting = 0, 0
  for _, row in ipairs(rows) do
    local made = count < ROWS_MOST and size < room and lines_of(row, now)
    for _, one in ipairs(made or {}) do size = size + #one + 1 end
    if made and size <= room then
      for _, one in ipairs(made) do
        count = count + 1
        lines[#lines + 1] = one
      end
    else
      size = room -- the oldest, without a gap
      if row.is_held then held = held + 1 else waiting = waiting + 1 end
    end
  end
  lines[#lines + 1] = line("M", held, waiting)
end

---@param clients zklock.Client[]
---@param room number bytes that its holds and waits may take
---@return string
function part.write(clients, room)
  local lines = { line("W", core.identity(), ngx.worker.id() or "", ngx.worker.exiting() and "leaving" or "") }
  for i, client in ipairs(clients) do lines[#lines + 1] = line_of_client(i, client) end
  add_rows(lines, rows_of(clients), room)
  return table.concat(lines, "\n")
end

-- ---- and back -------------------------------------------------------------------------------------------------------

local function or_nil(field) return field ~= "" and field or nil end

local READ = {
  W = function(made, worker, number, leaving)
    made.worker, made.number, made.is_leaving = worker, or_nil(number), leaving ~= ""
  end,
  C = function(made, client, chroot, state, session_timeout, held, waiting, lost, ran, skipped, failed)
    table.insert(made.clients, { client = client, chroot = chroot, state = state,
      session_timeout = tonumber(session_timeout), held = tonumber(held), waiting = tonumber(waiting),
      lost = tonumber(lost), runs = { ran = tonumber(ran), skipped = tonumber(skipped), failed = tonumber(failed) } })
  end,
  L = function(made, state, path, kind, owner, token, at, valid_until, position, next_node, is_own, holder, why)
    table.insert(made.locks, { state = state, path = path, kind = kind, owner = owner, token = or_nil(token),
      at = tonumber(at), valid_until = tonumber(valid_until), position = tonumber(position), next = or_nil(next_node),
      is_own = is_own ~= "", holder = or_nil(holder), why = or_nil(why), worker = made.worker })
  end,
  M = function(made, held, waiting) made.more = { held = tonumber(held), waiting = tonumber(waiting) } end,
}

---@param written string
---@return zklock.metrics.Part
function part.read(written)
  local made = { clients = {}, locks = {}, more = { held = 0, waiting = 0 } }
  for kind, rest in written:gmatch("(%u)\t([^\n]*)") do
    local fields, count = {}, 0
    for field in (rest .. "\t"):gmatch("([^\t]*)\t") do
      count = count + 1
      fields[count] = field
    end
    READ[kind](made, unpack(fields, 1, count)) -- nginx has Lua 5.1
  end
  return made
end

-- ---- the events -----------------------------------------------------------------------------------------------------

---@param kind "lost"|"state"|"slow"
---@param said string
---@return string
function part.write_event(kind, said)
  return ("%d|%s|%d|%s|%s"):format(ngx.time(), ngx.worker.id() or "-", ngx.worker.pid(), kind, said)
end

---@param written string
---@return { time: integer, pid: string, kind: string, said: string }? event
function part.read_event(written)
  local time, pid, kind, said = written:match("^(%d+)|[^|]*|(%d+)|(%l+)|(.*)$")
  if not time then return nil end
  return { time = tonumber(time), pid = pid, kind = kind, said = text.shown(said, EVENT_BYTES) }
end

return part
