-- SPDX-License-Identifier: MIT
-- Stands for whatever is expensive to ask.
local upstream = { asked = 0 }

---@return string
function upstream.prices()
  upstream.asked = upstream.asked + 1
  return ("worker %d has asked %d times"):format(ngx.worker.pid(), upstream.asked)
end

return upstream
