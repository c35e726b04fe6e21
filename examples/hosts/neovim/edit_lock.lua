-- SPDX-License-Identifier: MIT
-- One editor per file, on all machines: a buffer is read-only while another Neovim has its file.
package.loaded.luv = package.loaded.luv or vim.loop
local zklock = require "zklock"

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181",
  { loop = "luv", connect_timeout = 0 })) -- Neovim does not wait for the session

local requests = {}

-- Callbacks run inside luv, where vim.api raises E5560: vim.schedule calls it a little later.
local function show(buffer, token, err)
  vim.schedule(function()
    if not vim.api.nvim_buf_is_valid(buffer) then return end
    vim.bo[buffer].readonly = token == nil
    if err then vim.notify("edit_lock: " .. err, vim.log.levels.WARN) end
  end)
end

local function give_back(buffer)
  if requests[buffer] then requests[buffer]:release() end
  requests[buffer] = nil
end

local function take(buffer, file)
  give_back(buffer)
  local lock = client:mutex("/shop/neovim/" .. vim.fn.sha256(file))
  lock:on_lost(function(err) show(buffer, nil, err) end)
  requests[buffer] = lock:request(1, function(token, err) show(buffer, token, err) end)
end

local function on(event, fn) vim.api.nvim_create_autocmd(event, { callback = fn }) end
on("BufReadPost", function(event) take(event.buf, event.match) end)
on("BufUnload", function(event) give_back(event.buf) end)
on("VimLeavePre", function() client:close() end)
