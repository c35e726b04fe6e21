-- SPDX-License-Identifier: MIT
--- metrics: what clients count, for Prometheus.
local Client = require "zklock.client"
local check = require "zklock.base.check"
local render = require "zklock.metrics.render"
local snapshot = require "zklock.metrics.snapshot"

local metrics = {}

local function require_nginx(call)
  if not rawget(_G, "ngx") then check.fail(call .. " works inside nginx only") end
end

--- The clients that a public function got, each once.
local function check_clients(...)
  local clients, known = {}, {}
  for i = 1, math.max(select("#", ...), 1) do
    local client = (select(i, ...))
    if not rawequal(getmetatable(client), Client) then
      local got = select("#", ...) < i and "no value" or type(client)
      check.refuse("client " .. i, "zklock.Client", got)
    end
    if not known[client] then
      known[client] = true
      clients[#clients + 1] = client
    end
  end
  return clients
end

--- The counts of these clients, added up, in Prometheus' text format (version 0.0.4). No request is sent.
---@param client zklock.Client also a closed one, whose counts stay
---@param ... zklock.Client
---@return string? text
---@return string? err "forked": a client belongs to the parent process
function metrics.text(client, ...)
  local clients = check_clients(client, ...)
  local label_of = snapshot.labels(clients)
  if not label_of then return nil, "forked" end
  local all = snapshot.empty()
  for _, each in ipairs(clients) do
    local its, err = snapshot.of(each, label_of)
    if not its then return nil, err end
    snapshot.merge(all, its)
  end
  return render(all)
end

--- Inside nginx: adds what this client counts to a shared dictionary, until the client is closed.
---@param client zklock.Client
---@param dict table ngx.shared.NAME
---@return true
function metrics.share(client, dict)
  require_nginx "metrics.share"
  return require("zklock.metrics.nginx").share(client, dict)
end

--- Inside nginx, in a content handler: answers a scrape of Prometheus with the numbers of all workers
--- that share clients in this dictionary.
---@param dict table ngx.shared.NAME
function metrics.serve(dict)
  require_nginx "metrics.serve"
  require("zklock.metrics.nginx").serve(dict)
end

--- Inside nginx, in a content handler: answers with a page for operators of all workers, or as JSON.
---@param dict table ngx.shared.NAME
function metrics.page(dict)
  require_nginx "metrics.page"
  require("zklock.metrics.nginx").page(dict)
end

return metrics
