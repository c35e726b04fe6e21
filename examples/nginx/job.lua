-- SPDX-License-Identifier: MIT
-- A job that runs every second on one worker of all workers of all machines. When that one leaves, is killed or cut
-- off, the next in line takes over.
--
-- It waits with `request`, which works in init_worker_by_lua and does not keep a worker that is to leave.
local ledger = require "ledger"
local locks = require "locks"

local job = { every = 1, longest = 2 }

--- The work itself, which takes `longest` seconds at most. The token is for whatever it writes to: that has to refuse a
--- smaller one than it has seen, for a worker can be stopped between its look at the lock and its write.
function job.work(token)
  local _, late = ledger.take("jobs", token, function(done)
    ledger.note("job", "%d %d", token, ngx.worker.pid())
    return done + 1
  end)
  if late then ngx.log(ngx.WARN, late) end
end

local function run(token, err, request)
  if not token then return ngx.log(ngx.WARN, "no job here: ", err) end
  -- Not `state`, which says "held" until the loss is known: `validity` is for how long nobody else can have it.
  while request:state() == "held" and not ngx.worker.exiting() do
    if request:validity() > job.longest then job.work(token) end
    ngx.sleep(job.every)
  end
  local ok, why = request:release()
  if not ok then ngx.log(ngx.WARN, "the job's lock: ", why) end
  if not ngx.worker.exiting() then job.start() end -- it was lost: back into the line
end

function job.start()
  job.request = locks.job:request(nil, run) -- what is dropped is given back
end

return job
