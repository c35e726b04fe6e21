-- SPDX-License-Identifier: MIT
--- zklock: distributed locks over ZooKeeper.
---
---     local zklock = require "zklock"
---     local client = assert(zklock.connect("127.0.0.1:2181"))
---     local lock = client:mutex("/shop/stock")
---     local token = assert(lock:acquire(5))
---     -- ... one process at a time, anywhere ...
---     lock:release()
---     client:close()
local core = require "zklock.core"
local each = require "zklock.base.each"
local version = require "zklock.version"

-- First, before other files use functions that another version of the C module may lack.
if core.version ~= version then
  error(("zklock: the Lua files are of version %s, the C module zklock.core is of version %s. "
    .. "Install both from the same version, then start the process again: a C module that is loaded stays loaded")
    :format(version, core.version or "unknown"), 0)
end

local Client = require "zklock.client"
local Waits = require "zklock.run.waits"
local check = require "zklock.base.check"
local known_options = require("zklock.options").known
local loop = require "zklock.loop"
local query = require "zklock.run.query"
local text = require "zklock.base.text"

local zklock = {
  _VERSION = "zklock " .. version,
  --- The features of the linked libzookeeper.
  ---@type { tls: boolean }
  features = { tls = core.has_tls() },
}

local IDENTIFIER_MOST, CREDENTIAL_MOST = 1024, 65536 -- bytes
local TIMEOUT_MOST = 3600 -- seconds
local NODE_BYTES_LEAST, NODE_BYTES_MOST = 1000, 100000000

local function check_credential(entry, name)
  if type(entry) ~= "table" then
    check.refuse(name, "table with scheme and credential", type(entry))
  end
  check.options(entry, name, { scheme = true, credential = true }, true)
  local scheme = check.text(entry.scheme, name .. ".scheme")
  local credential = check.text(entry.credential, name .. ".credential")
  if #scheme + #credential > CREDENTIAL_MOST then
    check.refuse(name, ("at most %d bytes"):format(CREDENTIAL_MOST), ("%d"):format(#scheme + #credential))
  end
  return scheme, credential
end

--- One credential or a list of them, as scheme, credential, scheme, credential, ...
local function check_auth(auth)
  if auth == nil then return {} end
  if type(auth) ~= "table" then check.refuse("options.auth", "table or nil", type(auth)) end
  if auth[1] == nil then auth = { auth } end
  local flat, count = {}, 0
  for _ in each(auth) do count = count + 1 end
  for i = 1, count do
    local name = count > 1 and ("options.auth[%d]"):format(i) or "options.auth"
    flat[2 * i - 1], flat[2 * i] = check_credential(auth[i], name)
  end
  return flat
end

--- libzookeeper takes these as one list with commas, and skips empty parts.
local function check_tls_part(value, name)
  check.text(value, name)
  if value == "" then check.refuse(name, "non-empty string", "an empty one") end
  if value:find(",", 1, true) then check.refuse(name, "string without commas", "one with a comma") end
  return value
end

local function check_tls(tls)
  if tls == nil then return nil end
  if type(tls) ~= "table" then check.refuse("options.tls", "table or nil", type(tls)) end
  if not zklock.features.tls then
    check.wrong("options.tls", "the linked libzookeeper was built without TLS")
  end
  check.options(tls, "options.tls", { ca = true, cert = true, key = true, password = true }, true)
  local ca = check_tls_part(tls.ca, "options.tls.ca")
  local cert = check_tls_part(tls.cert, "options.tls.cert")
  local key = check_tls_part(tls.key, "options.tls.key")
  -- A key that is not encrypted accepts any password. Without a password libzookeeper would use no
  -- key, or ask on the terminal.
  local password = tls.password == nil and "none" or check_tls_part(tls.password, "options.tls.password")
  local wrong, why = core.check_tls(ca, cert, key, password)
  if wrong then check.wrong("options.tls." .. wrong, text.escape(why)) end
  return { ca, cert, key, password } -- not joined: the joined string would stay in Lua's memory
end

local function check_identifier(identifier)
  if identifier == nil then return core.identity() end
  check.text(identifier, "options.identifier")
  if #identifier > IDENTIFIER_MOST then
    check.refuse("options.identifier", ("at most %d bytes"):format(IDENTIFIER_MOST), ("%d"):format(#identifier))
  end
  return identifier
end

local function check_node_bytes(bytes)
  if bytes == nil then return nil end
  return check.integer(bytes, "options.node_bytes", NODE_BYTES_LEAST, NODE_BYTES_MOST)
end

local LEVELS = { error = "error", warn = "warn", debug = "debug" }

local function check_log_level(level, log)
  if level == nil then return "warn" end
  check.word(level, "options.log_level", LEVELS)
  if not log then check.wrong("options.log_level", "only valid with a function in options.log") end
  return level
end

--- Opens the client and, if there is a deadline, waits for its session.
---@param opened table gets `native` and `client` as soon as each exists, so that the caller can
---  close them
local function begin(opened, config, options, deadline)
  local native, lack = core.connect(config)
  if not native then return nil, lack end
  opened.native = native
  local client = Client.new(native, options)
  opened.client = client
  if not deadline then return true end
  return query(client, function(tag) return native:ask_session(tag, deadline) end)
end

local SIGNALS = { TERM = "TERM", HUP = "HUP", INT = "INT", QUIT = "QUIT" }

--- From now on these signals raise `interrupted: NAME` in the main program, as Ctrl-C does in lua(1).
---@param name "TERM"|"HUP"|"INT"|"QUIT"
---@param ... "TERM"|"HUP"|"INT"|"QUIT"
function zklock.interrupt_on(name, ...)
  if loop.default() == "openresty" then
    error("zklock.interrupt_on does not work inside nginx: workers release their locks when they exit", 2)
  end
  local names = { name, ... }
  for i = 1, math.max(1, select("#", name, ...)) do
    check.word(names[i], i == 1 and "name" or "name " .. i, SIGNALS)
  end
  for _, one in ipairs(names) do
    if not core.interrupt_on(one) then error("zklock.interrupt_on must be called from the main thread", 2) end
  end
end

--- Connects to the servers. Later, every call that waits reconnects by itself.
---@param hosts string ZooKeeper's connect string, "h1:2181,h2:2181/chroot"
---@param options zklock.ConnectOptions?
---@return zklock.Client? client
---@return string? err "disconnected", "auth failed", "no descriptors left", "no threads left",
---  "cannot wait in phase NAME"
---@return string? why of "disconnected", as far as is known: "connection refused: 127.0.0.1:2181"
function zklock.connect(hosts, options)
  check.text(hosts, "hosts")
  local wrong = core.check_hosts(hosts)
  if wrong then check.wrong("hosts", text.escape(wrong)) end
  options = check.options(options, "options", known_options.connect)
  local session_timeout = options.session_timeout == nil and 10
    or check.seconds(options.session_timeout, "options.session_timeout", TIMEOUT_MOST)
  local adapter = loop.choose(options.loop)
  local connect_timeout = options.connect_timeout
  if connect_timeout == nil then connect_timeout = adapter.background and 0 or session_timeout end
  local deadline, once = check.short_deadline(connect_timeout, "options.connect_timeout", TIMEOUT_MOST)
  local auth, tls = check_auth(options.auth), check_tls(options.tls)
  local is_known = auth[1] ~= nil or tls ~= nil -- a certificate is an identity, as a password is
  local log = check.listener(options.log or nil, "options.log")
  local log_level = check_log_level(options.log_level, log)
  local config = {
    hosts = hosts,
    session_timeout = session_timeout,
    auth = auth,
    acl = check.acl(options.acl, "options.acl", is_known),
    identifier = check_identifier(options.identifier),
    node_bytes = check_node_bytes(options.node_bytes),
    tls = tls,
    log = log_level == "debug",
    notes = log ~= nil or options.log ~= false and adapter.note ~= nil,
    trace = log_level == "debug",
  }
  local client_options = {
    loop = adapter,
    chroot = hosts:match("/.+") or "",
    is_known = is_known,
    on_state = check.listener(options.on_state, "options.on_state"),
    on_error = check.listener(options.on_error, "options.on_error"),
    log = options.log,
    log_level = log_level,
  }
  if not once and adapter.can_wait then
    local ok, err = adapter.can_wait()
    if not ok then return nil, err end
  end
  local opened = { native = false, client = false }
  local good, ok, err, why = Waits.protector(adapter)(begin, opened, config, client_options, not once and deadline)
  local native, client = opened.native, opened.client
  if good and ok then
    return client
  elseif good then
    if native then
      native:close() -- the session ends in the background
      client.dispatcher:dispatch()
    end
    if why then return nil, err, why end
    return nil, err
  end
  if native then native:close() end
  error(ok, 0)
end

return zklock
