-- SPDX-License-Identifier: MIT
-- Refreshes the static hints in one Knot Resolver at a time, of all machines that share a source.
net.listen("127.0.0.1", 5353, { kind = "dns" })
modules = { "hints > iterate" }
hints["stock.example"] = "192.0.2.1"

local zklock = require "zklock"

local function refresh(token)
  hints["stock.example"] = "192.0.2.2" -- what a slow download has brought
  log(("refreshed with token %d"):format(token))
end

worker.coroutine(function()
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = "cqueues" }))
  while true do
    local ok, err = client:mutex("/shop/knot/refresh"):with(60, refresh) -- queries go on
    if not ok then log("not refreshed: " .. err) end
    worker.sleep(3600)
  end
end)
