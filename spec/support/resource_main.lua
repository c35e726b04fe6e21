-- SPDX-License-Identifier: MIT
--- The resource's process: see `spec.support.resource`. Its argument is the log's path; it prints its port.

local uv = require "luv"
local port = require "spec.support.port"

local log = assert(io.open(arg[1], "ab"))
log:setvbuf("full", 65536)

local largest, written = 0, 0 -- of all tokens, and of those who were here alone
local writer = "-" -- the one who was, with that
local inside = "-" -- the last one who entered, until it is out

local ALONE = { enter = true, write = true, leave = true }
local SHARED = { join = true, read = true, part = true }
local OPERATORS = { void = true, ending = true, ended = true }

local function decide(verb, token, owner)
  if token < (ALONE[verb] and largest or SHARED[verb] and written or 0) then return "refused" end
  if ALONE[verb] then written, writer = token, owner end
  if ALONE[verb] or SHARED[verb] then largest = math.max(largest, token) end
  return "accepted"
end

local function present(owners, verb, token, owner, verdict)
  if verb == "ask" or (verb == "enter" or verb == "join") and verdict == "accepted" then
    owners[owner] = token
  elseif verb ~= "write" and verb ~= "read" or verdict == "refused" then
    owners[owner] = nil
  end
end

local function note_inside(verb, owner, verdict)
  if (verb == "enter" or verb == "join") and verdict == "accepted" then
    inside = owner
  elseif owner == inside and verb ~= "write" and verb ~= "read" then
    inside = "-"
  end
end

local function claim(sure)
  return sure ~= "" and (" %d %s"):format(math.floor(tonumber(uv.hrtime()) / 1000), sure) or ""
end

local function take(owners, line)
  local verb, number, owner, sure = line:match("^(%l+) (%d+) (%S+) ?(%d*)$")
  if verb == "sync" then
    log:flush()
    return "accepted\n"
  end
  if verb == "inside" then return inside .. "\n" end
  if verb == "written" then return ("%d %s\n"):format(written, writer) end
  if not verb then return "refused\n" end
  local token = tonumber(number)
  local verdict = decide(verb, token, owner)
  log:write(("%d %s %s %s%s\n"):format(token, owner, verb, verdict, claim(sure)))
  if not OPERATORS[verb] then
    present(owners, verb, token, owner, verdict)
    note_inside(verb, owner, verdict)
  end
  return verdict .. "\n"
end

local listener = uv.new_tcp()

local function accept()
  local client, owners, text = uv.new_tcp(), {}, ""
  if not listener:accept(client) then return client:close() end
  client:nodelay(true)
  client:read_start(function(_, chunk)
    if not chunk then
      for owner, token in pairs(owners) do log:write(("%d %s gone accepted\n"):format(token, owner)) end
      return client:close()
    end
    text = text .. chunk
    local answers = {}
    for line in text:gmatch("([^\n]*)\n") do answers[#answers + 1] = take(owners, line) end
    text = text:match("[^\n]*$")
    if #answers > 0 then client:write(table.concat(answers)) end
  end)
end

local number
repeat number = port.free() until listener:bind("127.0.0.1", number) and listener:listen(128, accept)

local stdin = uv.new_pipe(false)
stdin:open(0)
stdin:read_start(function(_, chunk)
  if not chunk then os.exit(0, true) end
end)
io.stdout:write(number, "\n")
io.stdout:flush()
uv.run()
