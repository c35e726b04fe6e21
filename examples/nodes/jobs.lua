-- SPDX-License-Identifier: MIT
-- Jobs that go from "new" through "running" to "done", each moved in one transaction: a job is never in two states, nor
-- in none, whatever is killed when. Any number of workers may run.
local zklock = require "zklock"

local NEW, RUNNING, DONE = "/shop/jobs/new", "/shop/jobs/running", "/shop/jobs/done"

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { session_timeout = 6 }))

for _, path in ipairs { NEW, RUNNING, DONE } do
  local ok, err = client:create(path, "", { parents = true }, 5)
  assert(ok or err == "node exists", err)
end

--- Moves a job, if it is still there. A worker that comes too late moves nothing.
---@return boolean moved false: somebody else was faster
local function move(name, from, to, data)
  local done, err = client:multi({ { "delete", from .. "/" .. name }, { "create", to .. "/" .. name, data } }, 5)
  if done then return true end
  if err == "unknown" then -- it was moved, or it was not: look
    local stat, why = client:exists(to .. "/" .. name, 5)
    assert(stat ~= nil, why)
    return stat ~= false
  end
  assert(err == "no node" or err == "node exists", err)
  return false
end

if arg[1] then -- new jobs
  for _, name in ipairs(arg) do assert(client:create(NEW .. "/" .. name, "to be done", nil, 5)) end
end

local count = 0
for _, name in ipairs(assert(client:children(NEW, 5))) do
  local data = client:get(NEW .. "/" .. name, 5)
  if data and move(name, NEW, RUNNING, data) then
    -- ... do it ...
    if move(name, RUNNING, DONE, "done") then count = count + 1 end
  end
end
print(count .. " done")
client:close()
