-- SPDX-License-Identifier: MIT
--- options: the options of `zklock.connect` and of each kind of lock. spec/docs/interface_spec.lua compares them with
--- docs/api.md.
local check = require "zklock.base.check"

local options = {}

local OF_LOCKS = { fair = true, linger = true, stint = true, max_hold = true, max_waiting = true, owner = true,
  name = true, slow = true }

--- The names that `zklock.connect` and each kind of lock accept.
options.known = {
  connect = {
    session_timeout = true, connect_timeout = true, auth = true, acl = true, identifier = true, loop = true,
    on_state = true, on_error = true, log = true, log_level = true, tls = true, node_bytes = true,
  },
  mutex = OF_LOCKS,
  rwlock = OF_LOCKS,
  multilock = { max_hold = true, owner = true, name = true, slow = true },
  semaphore = { max_hold = true, name = true, slow = true },
  once = { timeout = true, mark = true, name = true },
  job = { pause = true, pause_most = true, every = true, mark = true, name = true },
}

---@class zklock.ConnectOptions
---@field session_timeout number? seconds; default 10, at most 3600: how long a dead process keeps
---  its locks. The servers may grant another one
---@field connect_timeout number? seconds that connect waits for the session; default
---  `session_timeout`, inside nginx 0; at most 3600, or math.huge; 0 returns a client that is still
---  connecting
---@field auth table? `{ scheme = "digest", credential = "user:password" }`, or a list of them
---@field acl "open"|"creator"|"read"|nil of the nodes that the client creates; default "open", with
---  `auth` or `tls` "creator"
---@field identifier string? text for people, in the lock's node; default "HOST:PID"; at most 1024
---  bytes
---@field loop string|table|nil the event loop: "blocking", "cqueues", "luv", "copas", inside nginx
---  "openresty", inside HAProxy "haproxy", or an adapter table, see docs/hosts.md and docs/loops.md
---@field on_state fun(state: string)?
---@field on_error fun(message: string)? gets errors in callbacks; default prints to stderr
---@field log fun(level: string, message: string, source: "zklock"|"zookeeper")|false|nil gets zklock's
---  warnings and errors; false: also no lines in nginx's error log
---@field log_level "error"|"warn"|"debug"|nil the lowest level that `log` gets; default "warn";
---  "error": losses and refused credentials; "debug": also libzookeeper's lines, and one for each
---  change of a state, see docs/internals/tracing.md
---@field node_bytes integer? so many bytes the paths of the client's ephemeral nodes may have, with the
---  chroot; 1,000 to 100,000,000, default 900,000. Beyond it an acquire fails with "too big"
---@field tls { ca: string, cert: string, key: string, password: string? }? paths of files in PEM
---  form, and the key's password if it has one

--- These belong to the path, except `owner` and `name`, which belong to the handle. Different options
--- for the same path raise.
---@class zklock.SemaphoreOptions
---@field name string? UTF-8, at most 255 bytes: the label `lock` of its metrics. Locks without one
---  have `lock=""`
---@field slow number? seconds, above 0, up to 2,000,000: a wait that takes longer is a warning in the
---  log, which names the path and who holds
---@field max_hold number? seconds, above 0, up to 2,000,000, after which a hold is lost, even if the
---  script goes on

---@class zklock.MultilockOptions: zklock.SemaphoreOptions
---@field owner "thread"|nil inside nginx: the light thread owns the lock, instead of the request

---@class zklock.LockOptions: zklock.MultilockOptions
---@field max_waiting integer? how many callers of this client may wait; one more gets "busy"
---@field fair boolean? default true: strict order of arrival. false: this client's callers take
---  turns on one node, its place in the line, without traffic; for a read-write lock, writers on
---  one node, readers together on another
---@field linger number? with `fair = false`: seconds for which the client keeps the place at most
---  while no caller wants it; default 1
---@field stint number? with `fair = false`: seconds for which the waiters behind the place wait at
---  most, besides the last hold; 0 to 3600, default 1

---@class zklock.OnceOptions
---@field timeout number? seconds that the wait for the lock and the mark take at most; nil waits for
---  ever
---@field mark "before"|"after"|nil when the mark is written: default "before" fn: at most once;
---  "after": at least once
---@field name string? the label `lock` of its metrics, as of a lock

---@class zklock.JobOptions
---@field pause number? seconds between the return of fn and the next time that the job queues;
---  default 1
---@field pause_most number? seconds: the pause doubles with each error up to this; default 30
---@field every number? seconds between two starts by anybody, above 0
---@field mark "before"|"after"|nil with `every`: when the mark is written, as of `client:once`
---@field name string? the label `lock` of its metrics, as of a lock

local OF_PLACES = { "linger", "stint" }
local LINGER, STINT, STINT_MOST = 1, 1, 3600

--- Checks the options of `fair = false`, which are not valid with a fair lock.
local function check_place(given, settings)
  for _, name in ipairs(OF_PLACES) do
    if settings.fair and given[name] ~= nil then
      check.wrong("options." .. name, "only valid with fair = false")
    end
  end
  if settings.fair then return end
  settings.linger = given.linger == nil and LINGER or check.span(given.linger, "options.linger")
  settings.stint = given.stint == nil and STINT or check.span(given.stint, "options.stint", STINT_MOST)
end

--- The settings of a lock without options, and of one with `fair = false` alone: all such locks share
--- these tables, and nothing changes them. `usual`: the engine needs none of them.
local USUAL, USUAL_PLACE = { fair = true, usual = true }, { fair = false, linger = LINGER, stint = STINT }

--- The settings of a lock without options.
options.usual = USUAL

local MARKS = { before = "before", after = "after" }

--- When the mark is written.
---@return "before"|"after"
function options.mark(given)
  return given == nil and "before" or check.word(given, "options.mark", MARKS)
end

--- The name of a handle, for metrics.
---@return string?
local function check_name(given)
  if given ~= nil then check.label(given, "options.name") end
  return given
end

--- Checks the options of `client:once`.
---@return "before"|"after" mark
---@return number? timeout
---@return string? name
function options.check_once(given)
  given = check.options(given, "options", options.known.once)
  local mark = options.mark(given.mark)
  check.deadline(given.timeout, "options.timeout")
  return mark, given.timeout, check_name(given.name)
end

local PAUSE, PAUSE_MOST = 1, 30

--- Checks the options of `client:job`.
---@return zklock.JobSettings
---@return string? name
function options.check_job(given)
  given = check.options(given, "options", options.known.job)
  local pause = given.pause == nil and PAUSE or check.span(given.pause, "options.pause")
  local most = given.pause_most == nil and PAUSE_MOST or check.span(given.pause_most, "options.pause_most")
  local every = given.every ~= nil and check.period(given.every, "options.every")
  if given.mark ~= nil and not every then
    check.wrong("options.mark", "only valid with options.every")
  end
  return { pause = pause, pause_most = most, every = every, mark = options.mark(given.mark) },
    check_name(given.name)
end

--- Checks the options of a lock. Nothing changes the result.
---@param kind string
---@return { fair: boolean, max_hold: number?, max_waiting: integer?, linger: number?, stint: number?,
---   slow: number?, usual: boolean? }
---@return boolean by_thread true: inside nginx, a call that names no owner belongs to its light
---  thread
---@return string? name
function options.check(given, kind)
  given = check.options(given, "options", options.known[kind])
  local fair = given.fair == nil or check.bool(given.fair, "options.fair")
  local max_hold = given.max_hold
  if max_hold ~= nil then check.seconds(max_hold, "options.max_hold") end
  local max_waiting = given.max_waiting
  if max_waiting ~= nil then check.integer(max_waiting, "options.max_waiting", 0) end
  local by_thread = given.owner ~= nil and check.word(given.owner, "options.owner", { thread = true })
  local name = check_name(given.name)
  local slow = given.slow
  if slow ~= nil then check.seconds(slow, "options.slow") end
  local is_usual = max_hold == nil and max_waiting == nil and slow == nil and given.linger == nil and given.stint == nil
  if is_usual then return fair and USUAL or USUAL_PLACE, by_thread, name end
  local settings = { fair = fair, max_hold = max_hold, max_waiting = max_waiting, slow = slow }
  check_place(given, settings)
  return settings, by_thread, name
end

return options
