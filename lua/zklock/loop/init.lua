-- SPDX-License-Identifier: MIT
--- loop: how callers wait: one adapter for each event loop. An adapter knows nothing about locks.
--- docs/internals/adapters.md is its contract.

local check = require "zklock.base.check"
local each = require "zklock.base.each"
local text = require "zklock.base.text"

local loop = {}

local FIELDS = { name = "string", wait = "function", wake = "function", background = "boolean?" }
for _, field in ipairs { "unfit", "can_wait", "watch", "spawn", "settle", "owner", "tie", "attend", "follow", "goes_on",
  "is_gone", "look", "note", "report" } do
  FIELDS[field] = "function?"
end

--- The adapters that come with zklock. Each is loaded on demand, because it needs its loop.
local MODULES = {
  blocking = "zklock.loop.blocking",
  copas = "zklock.loop.copas",
  cqueues = "zklock.loop.cqueues",
  haproxy = "zklock.loop.haproxy",
  luv = "zklock.loop.luv",
  openresty = "zklock.loop.openresty",
}

--- In nginx a wait that blocks would stop a whole worker, in HAProxy a whole thread.
function loop.default()
  local ngx, hap = rawget(_G, "ngx"), rawget(_G, "core")
  if type(ngx) == "table" and ngx.get_phase then return "openresty" end
  if type(hap) == "table" and hap.register_action and hap.tcp then return "haproxy" end
  return "blocking"
end

-- HAProxy may change its root before the first client needs the file.
if loop.default() == "haproxy" then require(MODULES.haproxy) end

local function refuse(why)
  check.wrong("options.loop", why)
end

local function names()
  local list = {}
  for name in each(MODULES) do list[#list + 1] = "'" .. name .. "'" end
  table.sort(list)
  return table.concat(list, ", ")
end

local function named(name)
  local module = MODULES[name]
  if not module then
    refuse(("%s or an adapter table expected, got '%s'"):format(names(), text.shown(name)))
  end
  local ok, adapter = pcall(require, module)
  if not ok then refuse(("'%s' cannot be loaded: %s"):format(name, tostring(adapter))) end
  return adapter
end

local function check_fields(adapter)
  for field, expected in each(FIELDS) do
    local got = type(adapter[field])
    local wanted = expected:match("^%a+")
    if got ~= wanted and not (expected:find("?", 1, true) and got == "nil") then
      refuse(("the adapter's field '%s' must be a %s%s, is %s"):format(field, wanted,
        wanted == expected and "" or " or nil", got == "nil" and "missing" or "a " .. got))
    end
  end
end

--- The adapter for `options.loop`. Raises if the value is no adapter, or if no client can be
--- created here.
---@param value string|table|nil
function loop.choose(value)
  if value == nil then value = loop.default() end
  local adapter = value
  if type(value) == "string" then
    adapter = named(value)
  elseif type(value) ~= "table" then
    refuse(("%s or an adapter table expected, got %s"):format(names(), type(value)))
  end
  check_fields(adapter)
  local unfit = adapter.unfit and adapter.unfit()
  if unfit then check.fail(unfit) end
  return adapter
end

return loop
