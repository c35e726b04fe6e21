--- options: the options of `zklock.connect` and of each kind of lock. spec/docs/interface_spec.lua compares them with
--- docs/api.md.
local check = require "zklock.base.check"

local options = {}

--- The names that `zklock.connect` and each kind of lock accept.
options.known = {
  connect = {
    session_timeout = true, connect_timeout = true, auth = true, acl = true, identifier = true, loop = true,
    on_state = true, on_error = true, log = true, tls = true,
  },
  mutex = { fair = true, linger = true, handoffs = true, stint = true, max_hold = true, max_waiting = true,
    owner = true },
  rwlock = { fair = true, linger = true, handoffs = true, stint = true, max_hold = true, max_waiting = true,
    owner = true },
  multilock = { max_hold = true, owner = true },
  semaphore = { max_hold = true },
}

---@class zklock.ConnectOptions
---@field session_timeout number? seconds asked of the servers; default 10, at most 3600: how long a dead process keeps
---  its locks
---@field connect_timeout number? seconds to wait here for the session; default `session_timeout`, inside nginx 0; at
---  most 3600, or math.huge; 0 returns a client that is still connecting
---@field auth table? `{ scheme = "digest", credential = "user:password" }`, or a list of them
---@field acl "open"|"creator"|"read"|nil of the nodes that the client creates; default "open", with `auth` or `tls`
---  "creator"
---@field identifier string? text for people, in the lock's node; default "HOST:PID"; at most 1024 bytes
---@field loop string|table|nil the event loop: "blocking", "cqueues", "luv", "copas", inside nginx "openresty", or an
---  adapter table, see docs/loops.md
---@field on_state fun(state: string)?
---@field on_error fun(message: string)? for errors in callbacks; default prints to stderr
---@field log fun(level: string, message: string)|false|nil libzookeeper's warnings and errors, of all clients of the
---  process; false: no lines in nginx's error log either
---@field tls { ca: string, cert: string, key: string, password: string? }? paths of files in PEM form, and the key's
---  password if it has one

--- These belong to the path, except `owner`, which belongs to the handle: different options for the same path raise.
---@class zklock.SemaphoreOptions
---@field max_hold number? seconds after which a hold is lost, whatever the script does

---@class zklock.MultilockOptions: zklock.SemaphoreOptions
---@field owner "thread"|nil inside nginx the light thread owns what it takes, instead of the request

---@class zklock.LockOptions: zklock.MultilockOptions
---@field max_waiting integer? how many callers of this client may wait; one more gets "busy"
---@field fair boolean? default true: strict order of arrival; false: this client's callers take turns on one node, its
---  place in the line, without traffic; those of a read-write lock on one for writers, and together on one for readers
---@field linger number? with `fair = false`: seconds for which the client keeps the place at most when no caller wants
---  it; default 1
---@field handoffs integer? with `fair = false`: how many grants in a row the waiters behind the place wait for;
---  default 64
---@field stint number? with `fair = false`: seconds for which they wait at most, besides the last hold; default
---  1; math.huge: no bound

local OF_PLACES = { "linger", "handoffs", "stint" }
local LINGER, HANDOFFS, STINT = 1, 64, 1

--- The options of a shared place, which are not valid with a fair lock.
local function check_place(given, settings, level)
  for _, name in ipairs(OF_PLACES) do
    if settings.fair and given[name] ~= nil then
      error(("bad argument 'options.%s': only valid with fair = false"):format(name), level - 1)
    end
  end
  if settings.fair then return end
  settings.linger = given.linger == nil and LINGER or check.span(given.linger, "options.linger", level)
  settings.stint = given.stint == nil and STINT or check.span(given.stint, "options.stint", level)
  settings.handoffs = given.handoffs == nil and HANDOFFS
    or check.integer(given.handoffs, "options.handoffs", 1, nil, level)
end

--- The settings of a lock without options: one table for all of them, which nobody changes.
local USUAL = { fair = true }

--- Checks the options of a lock. Nobody changes the result.
---@param kind string
---@return { fair: boolean, max_hold: number?, max_waiting: integer?, linger: number?, handoffs: integer?,
---   stint: number? }
---@return boolean by_thread whether a call that names no owner is its light thread's, inside nginx
function options.check(given, kind, level)
  given = check.options(given, "options", options.known[kind], level)
  local fair = given.fair == nil or check.bool(given.fair, "options.fair", level)
  local max_hold = given.max_hold
  if max_hold ~= nil then check.seconds(max_hold, "options.max_hold", level) end
  local max_waiting = given.max_waiting
  if max_waiting ~= nil then check.integer(max_waiting, "options.max_waiting", 0, nil, level) end
  local by_thread = given.owner ~= nil and check.word(given.owner, "options.owner", { thread = true }, level)
  local is_usual = fair and max_hold == nil and max_waiting == nil
  local settings = is_usual and USUAL or { fair = fair, max_hold = max_hold, max_waiting = max_waiting }
  check_place(given, settings, level + 1)
  return settings, by_thread
end

return options
