-- SPDX-License-Identifier: MIT
--- nginx: the numbers of all workers in one scrape, and the page for operators.
local Client = require "zklock.client"
local Publisher = require "zklock.metrics.publisher"
local Store = require "zklock.metrics.store"
local check = require "zklock.base.check"
local each = require "zklock.base.each"
local page = require "zklock.metrics.page"
local page_json = require "zklock.metrics.page_json"
local render = require "zklock.metrics.render"
local tally = require "zklock.metrics.tally"
local text = require "zklock.base.text"
local view = require "zklock.metrics.view"

local nginx = {}

--- How often, and how many seconds in between, the page looks whether all workers have written their
--- parts: they look once a second whether somebody wants them.
local LOOKS, PAUSE = 16, 0.1

local function check_dict(dict)
  local is_dict = type(dict) == "table" and type(dict.safe_add) == "function" and type(dict.incr) == "function"
  if is_dict then return dict end
  local advice = dict == nil and ": http {} needs `lua_shared_dict NAME 1m;`" or ""
  check.refuse("dict", "ngx.shared.NAME", type(dict) .. advice)
end

local function check_phase(call)
  if ngx.get_phase() ~= "init" then return end
  check.fail(call .. " cannot be called in init_by_lua, where nginx has not forked its workers yet: "
    .. "call it in init_worker_by_lua")
end

function nginx.share(client, dict)
  check_phase("metrics.share")
  if not rawequal(getmetatable(client), Client) then
    check.refuse("client", "zklock.Client", type(client))
  end
  check_dict(dict)
  Publisher.share(dict, client)
  return true
end

--- The dictionary, as this worker knows it. The worker's own numbers are up to date from here on.
local function store_of(dict)
  local publisher = Publisher.of(dict)
  if not publisher then return Store.new(dict) end
  publisher:write()
  return publisher.store
end

function nginx.serve(dict)
  check_phase("metrics.serve")
  check_dict(dict)
  local store = store_of(dict)
  local found = store:read()
  local header = ngx.header
  header.content_type, header.cache_control = "text/plain; version=0.0.4; charset=utf-8", "no-store"
  ngx.print(render(tally.read(found, store:errors())))
end

local function have_all_written(found)
  for worker in each(found.gauges) do
    if not found.part[worker] then return false end
  end
  return true
end

--- The parts of all workers, once they have had the time to write them.
---@return table found as of `Store:read`
local function await_parts(store, publisher)
  local found = store:read()
  for _ = 1, LOOKS do
    if have_all_written(found) then break end
    ngx.sleep(PAUSE)
    found = store:read()
  end
  if publisher then -- its own part needs no room in the dictionary
    local name, part = publisher:part()
    found.part[name] = part
  end
  return found
end

--- A parameter of the request, spelled; "": it has none, or several.
local function parameter(name)
  local value = ngx.req.get_uri_args()[name]
  return type(value) == "string" and text.escape(value) or ""
end

--- Whether the page has to be JSON. nil: it has answered that there is no such format.
local function wants_json()
  local format = ngx.req.get_uri_args().format
  if format == nil or format == "json" then return format == "json" end
  ngx.status = 400
  ngx.header.content_type, ngx.header.x_content_type_options = "text/plain; charset=utf-8", "nosniff"
  ngx.say("bad argument 'format': json or no format expected, got ",
    type(format) == "string" and text.escape(format) or "several, or one without a value")
  return nil
end

function nginx.page(dict)
  check_phase("metrics.page")
  check_dict(dict)
  local is_json = wants_json()
  if is_json == nil then return end
  Store.new(dict):want_page()
  local store = store_of(dict)
  local found = await_parts(store, Publisher.of(dict))
  local shown = view.new(store, found, { filter = parameter "filter", still = parameter "still" })
  local header = ngx.header
  header.content_type = is_json and "application/json" or "text/html; charset=utf-8"
  header.cache_control = "no-store"
  header.content_security_policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    .. "base-uri 'none'; frame-ancestors 'none'"
  header.x_content_type_options, header.referrer_policy = "nosniff", "no-referrer"
  ngx.print(is_json and page_json(shown) or page(shown))
end

return nginx
