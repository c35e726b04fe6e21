-- SPDX-License-Identifier: MIT
--- The processes of a `zklock run`, and writers that must never be two at once.

local folder = require "spec.support.folder"
local wait = require "spec.support.wait"

local uv = require "luv"

local running = {}

local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a")
  if file then file:close() end
  return text
end

running.read = read

--- The children of a process.
function running.children(pid)
  local children = {}
  local text = read(("/proc/%d/task/%d/children"):format(pid, pid)) or ""
  for child in text:gmatch("%d+") do children[#children + 1] = tonumber(child) end
  return children
end

--- Is the process there, and no zombie?
function running.is_alive(pid)
  local state = (read(("/proc/%d/stat"):format(pid)) or ""):match("^.*%) (%a)")
  return state ~= nil and state ~= "Z" and state ~= "X"
end

local function only_child(pid)
  return wait.eventually(function() return running.children(pid)[1] end)
end

--- The processes of a run that holds: { front =, session =, watcher =, command = } as process ids.
function running.processes(front)
  local session = only_child(front.pid)
  local watcher = only_child(session)
  return { front = front.pid, session = session, watcher = watcher, command = only_child(watcher) }
end

--- All that descends from a process, in any order.
function running.descendants(pid, all)
  all = all or {}
  for _, child in ipairs(running.children(pid)) do
    all[#all + 1] = child
    running.descendants(child, all)
  end
  return all
end

--- How many processes have this word on their command line.
function running.count(word)
  local count, scan = 0, assert(uv.fs_scandir("/proc"))
  for name in function() return (uv.fs_scandir_next(scan)) end do
    local words = name:match("^%d+$") and read("/proc/" .. name .. "/cmdline") or ""
    if words:find(word, 1, true) then count = count + 1 end
  end
  return count
end

--- Signals each of these processes, at once as far as that is possible.
function running.signal(pids, name)
  for _, pid in ipairs(pids) do uv.kill(pid, name) end
end

function running.all_dead(pids)
  for _, pid in ipairs(pids) do
    if running.is_alive(pid) then return false, pid end
  end
  return true
end

--- A place that one writer at a time may use. Its commands leave a daemon behind, which is a writer, too, and ignores
--- what can be ignored.
---@param turns integer? of a tenth of a second, after which command and daemon end; nil: they do not
---@return { words: string[], overlaps: (fun(): integer), began: (fun(): integer) }
function running.place(turns)
  local rest = turns and ("for i in $(seq %d); do sleep 0.1; done"):format(turns) or "while :; do sleep 0.1; done"
  local home = folder.new("place")
  local script = home .. "/write"
  local file = assert(io.open(script, "w"))
  file:write(([[
trap '' TERM HUP INT
exec 9>>HOME/lock
flock -n 9 || echo overlap >>HOME/overlaps
(setsid sh -c 'trap "" TERM HUP INT; REST' <&- >&- 2>&- & )
echo began >>HOME/began
echo began
REST
]]):gsub("HOME", home):gsub("REST", rest) .. "")
  file:close()
  local function lines(name) return select(2, (read(home .. "/" .. name) or ""):gsub("\n", "")) end
  return {
    words = { "sh", script },
    overlaps = function() return lines("overlaps") end,
    began = function() return lines("began") end,
  }
end

return running
