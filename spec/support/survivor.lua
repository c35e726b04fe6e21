-- SPDX-License-Identifier: MIT
--- A process that should have ended and is still there: what tells why, for the failure of the spec that waited.
--
-- For each thread its state, the processor time that it takes, and where it waits; the signals that are pending or
-- blocked; the open descriptors; the stacks of the C functions, if gdb is there; the end of the log that it writes.

local file = require "spec.support.file"
local lfs = require "lfs"
local loop = require "spec.support.loop"
local process = require "spec.support.process"
local uv = require "luv"

local survivor = {}

local GDB = "/usr/bin/gdb" -- a machine may lack it
--- How long the threads are watched, in seconds, and how many lines of the log are shown.
local LOOK, LOG_LINES = 1, 60
--- The lines of /proc/PID/task/ID/status that matter.
local STATUS = { "State", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "voluntary_ctxt_switches",
  "nonvoluntary_ctxt_switches" }

--- "": it cannot be read, or the process has ended meanwhile.
local function read(path)
  local ok, text = pcall(file.read, path)
  return ok and text or ""
end

--- The names in a folder of /proc, as numbers.
local function numbers_in(path)
  local list, scan = {}, uv.fs_scandir(path)
  if scan then
    for name in function() return uv.fs_scandir_next(scan) end do list[#list + 1] = tonumber(name) end
  end
  table.sort(list)
  return list
end

--- The processor time that a thread has taken, in ticks.
local function ticks_of(task)
  local user, system = read(task .. "/stat"):match("%) %a" .. (" %-?%d+"):rep(10) .. " (%d+) (%d+)")
  return user and user + system or 0
end

local function line_of(task, before)
  local status, said = read(task .. "/status"), {}
  for _, name in ipairs(STATUS) do
    said[#said + 1] = name .. " " .. (status:match("%f[%w]" .. name .. ":%s*([^\n]*)") or "?")
  end
  local ticks = ticks_of(task)
  return ("thread %s %s: %d ticks, %d of them in %g s; waits in %s, system call %s; %s"):format(task:match("%d+$"),
    read(task .. "/comm"):match("[^\n]*"), ticks, ticks - before, LOOK, read(task .. "/wchan"),
    read(task .. "/syscall"):match("[^\n]*"), table.concat(said, ", "))
end

local function add_threads(lines, pid)
  local tasks, before = {}, {}
  for i, id in ipairs(numbers_in(("/proc/%d/task"):format(pid))) do
    tasks[i] = ("/proc/%d/task/%d"):format(pid, id)
    before[i] = ticks_of(tasks[i])
  end
  loop.poll(function() return false end, LOOK)
  for i, task in ipairs(tasks) do lines[#lines + 1] = line_of(task, before[i]) end
end

--- Adds what its descriptors are, and the end of the log among them.
local function add_descriptors(lines, pid)
  local list, log = {}, nil
  for i, number in ipairs(numbers_in(("/proc/%d/fd"):format(pid))) do
    local target = uv.fs_readlink(("/proc/%d/fd/%d"):format(pid, number)) or "?"
    list[i] = number .. " " .. target
    if target:find("%.log$") then log = target end
  end
  lines[#lines + 1] = "descriptors: " .. table.concat(list, ", ")
  local logged = {}
  for line in (log and read(log) or ""):gmatch("[^\n]+") do logged[#logged + 1] = line end
  for i = math.max(1, #logged - LOG_LINES + 1), #logged do lines[#lines + 1] = "log: " .. logged[i] end
end

local function add_stacks(lines, pid)
  if not lfs.attributes(GDB) then
    lines[#lines + 1] = "no stacks: gdb is not here"
    return
  end
  local gdb = process.spawn { GDB, "-p", pid, "-batch", "-nx", "-ex", "thread apply all backtrace",
    env = process.PLAIN }
  if not gdb:wait() then gdb:kill() end
  lines[#lines + 1] = gdb:stdout() .. gdb:stderr()
end

--- Describes why this process has not ended.
---@param pid integer
---@return string
function survivor.describe(pid)
  local command = read(("/proc/%d/cmdline"):format(pid)):gsub("%z", " ")
  local lines = { ("process %d, %s, beside a load of %s"):format(pid, command:match("^(.-)%s*$"),
    read("/proc/loadavg"):match("[^\n]*")) }
  add_threads(lines, pid)
  add_descriptors(lines, pid)
  add_stacks(lines, pid)
  for child in read(("/proc/%d/task/%d/children"):format(pid, pid)):gmatch("%d+") do
    lines[#lines + 1] = survivor.describe(tonumber(child))
  end
  return table.concat(lines, "\n")
end

return survivor
