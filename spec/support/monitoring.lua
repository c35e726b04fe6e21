-- SPDX-License-Identifier: MIT
--- examples/monitoring in a real nginx, a real Prometheus that scrapes it, and a browser that reads its page.

local files = require "spec.support.file"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local nginx = require "spec.support.nginx"
local port = require "spec.support.port"
local process = require "spec.support.process"
local uv = require "luv"
local wait = require "spec.support.wait"

local monitoring = { EXAMPLE = "examples/monitoring/" }

local PATIENCE = wait.PATIENCE

---@class monitoring.options
---@field hosts string of the servers
---@field locations string? more of them
---@field lua string? more in the example's locks.lua, before its last line

--- Starts the example's nginx. Its sessions outlive what a busy machine does to them.
---@param options monitoring.options
function monitoring.example(options)
  local prefix, here = folder.new("monitoring"), port.free()
  assert(uv.fs_mkdir(prefix .. "/run", 448))
  local locks = files.read(monitoring.EXAMPLE .. "locks.lua")
  locks = files.replace(locks, "session_timeout = 6", "session_timeout = 30")
  files.write(prefix .. "/locks.lua", files.replace(locks, "return locks\n", (options.lua or "") .. "\nreturn locks\n"))
  local conf = files.read(monitoring.EXAMPLE .. "nginx.conf"):gsub("127%.0%.0%.1:8080", "127.0.0.1:" .. here)
  conf = files.replace(conf, '"$prefix/?.lua;;"', ('"$prefix/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;;"; '
    .. 'lua_package_cpath "%s/?.so;;"'):format(nginx.tree(), nginx.tree(), nginx.build()))
  conf = files.replace(conf, "location = /buy {", (options.locations or "") .. "\nlocation = /buy {")
  if uv.getuid() == 0 then conf = "user root;\n" .. conf end -- our folders are ours alone
  return nginx.start { conf = conf, prefix = prefix, port = here, env = { ZOOKEEPER = options.hosts } }
end

-- ---- Prometheus -----------------------------------------------------------------------------------------------------

local prometheus = {}
prometheus.__index = prometheus

--- Starts a Prometheus that scrapes that port every second, with the example's alerts.
---@param target integer the port
function monitoring.prometheus(target)
  local self = setmetatable({ dir = folder.new("prometheus"), port = port.free() }, prometheus)
  local conf = files.read(monitoring.EXAMPLE .. "prometheus.yml")
  conf = files.replace(conf, "127.0.0.1:8080", "127.0.0.1:" .. target)
  conf = conf:gsub("interval: 15s", "interval: 1s")
  files.write(self.dir .. "/prometheus.yml", conf)
  files.write(self.dir .. "/alerts.yml", files.read(monitoring.EXAMPLE .. "alerts.yml"))
  self.process = process.spawn { "prometheus", "--config.file=" .. self.dir .. "/prometheus.yml",
    "--storage.tsdb.path=" .. self.dir .. "/data", "--web.listen-address=127.0.0.1:" .. self.port,
    "--log.level=warn", cwd = self.dir, env = process.PLAIN }
  return self
end

--- An answer of its interface as text; "" while it has none.
---@param path string
---@param query string?
function prometheus:ask(path, query)
  local curl = process.spawn { "curl", "-s", "--get", "--data-urlencode", "query=" .. (query or ""),
    ("http://127.0.0.1:%d/api/v1/%s"):format(self.port, path), env = process.PLAIN }
  curl:wait(PATIENCE)
  return curl:stdout()
end

--- The value of a query that has one; nil while it has none.
---@return number?
function prometheus:value(query)
  return tonumber(self:ask("query", query):match('"value":%[[^,]+,"([^"]+)"%]'))
end

--- Waits until the query has that value.
function prometheus:becomes(query, value)
  wait.eventually(function()
    local found = self:value(query)
    return found == value, ("%s\n%s"):format(tostring(found), self.process:stderr())
  end, PATIENCE, ("%s: %s"):format(query, tostring(value)))
end

function prometheus:stop()
  self.process:signal("sigterm")
  self.process:wait(PATIENCE)
  folder.remove(self.dir)
end

-- ---- the browser ----------------------------------------------------------------------------------------------------

local function chromium(...)
  local home = folder.new("chromium")
  local options = { "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--user-data-dir=" .. home, "--force-color-profile=srgb", ... }
  options.env = { HOME = home, PATH = os.getenv("PATH"), LC_ALL = "C.UTF-8", TZ = "UTC" }
  local browser = process.spawn(options)
  local code = browser:wait(PATIENCE)
  local said, problem = browser:stdout(), browser:stderr()
  folder.remove(home)
  assert(code == 0, ("chromium ended with %s:\n%s"):format(tostring(code), problem))
  return said
end

--- The page as the browser has it after it has run what it would run, as HTML.
---@param url string
function monitoring.dom(url)
  return chromium("--virtual-time-budget=1000", "--dump-dom", url)
end

--- Writes a picture of the page.
---@param url string
---@param path string of a PNG file
---@param width integer
---@param height integer
function monitoring.screenshot(url, path, width, height)
  chromium("--hide-scrollbars", ("--window-size=%d,%d"):format(width, height), "--screenshot=" .. path, url)
  assert(lfs.attributes(path, "size"), "no picture at " .. path)
end

return monitoring
