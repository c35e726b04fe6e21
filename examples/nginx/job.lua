-- A job that runs every second on one worker of all workers of all machines. When that one leaves, is killed or cut
-- off, the next in line takes over.
--
-- It waits with `request`, which works in init_worker_by_lua and does not keep a worker that is to leave.
local lock = require("locks").job

local job = { every = 1 }

--- The work itself. The token is for whatever it writes to.
function job.work(token)
  local file = assert(io.open((os.getenv("SHOP") or ngx.config.prefix() .. "shop") .. "/job", "a"))
  file:write(("%d %d\n"):format(token, ngx.worker.pid()))
  file:close()
end

function job.start()
  local request
  request = lock:request(nil, function(token, err)
    if not token then return ngx.log(ngx.WARN, "no job here: ", err) end
    while request:state() == "held" and not ngx.worker.exiting() do
      job.work(token)
      ngx.sleep(job.every)
    end
    request:release()
    if not ngx.worker.exiting() then job.start() end -- it was lost: back into the line
  end)
  job.request = request -- what is dropped is given back
end

return job
