-- SPDX-License-Identifier: MIT
--- families: the names, types and meanings of all metrics, in the order in which they are written.

---@class zklock.Family
---@field name string
---@field type "counter"|"gauge"|"histogram"
---@field help string
---@field merge "sum"|"max"|"min" how the values of several clients become one
---@field is_age boolean? it grows with the time, but for 0, which stands for none

local families = { of = {} } ---@type zklock.Family[] `of`: the same by name

local function add(kind, name, help, merge)
  local family = { name = "zklock_" .. name, type = kind, help = help, merge = merge or "sum" }
  families[#families + 1], families.of[family.name] = family, family
end

add("counter", "acquisitions_total", "Acquires that have ended, by result.")
add("counter", "losses_total", "Holds that were lost, by reason.")
add("counter", "runs_total", "Runs of jobs and of once: begun, of these failed, and skipped because of a mark.")
add("counter", "sessions_total", "Sessions made.")
add("counter", "requests_total", "Requests sent to the servers.")
add("counter", "abandoned_total", "Holds and waits given back because their owner ended.")
add("histogram", "wait_seconds", "Time from an acquire to its answer, whatever that is.")
add("histogram", "hold_seconds", "Time from a grant to the end of the hold.")
add("histogram", "heartbeat_seconds", "Time from a heartbeat to the answer of the servers.")
add("gauge", "held", "Holds at present.")
add("gauge", "waiting", "Callers that wait at present, without the jobs that stand by.")
add("gauge", "standing_by", "Jobs that wait for their turn at present.")
add("gauge", "oldest_wait_seconds", "How long the caller that waits longest has waited; jobs do not count.", "max")
add("gauge", "oldest_hold_seconds", "How long the oldest hold has lasted; those of jobs do not count.", "max")
add("gauge", "last_run_timestamp_seconds", "When a job or a once last called its function; absent before.", "max")
add("gauge", "node_bytes", "Bytes of the paths of a client's ephemeral nodes: the most of any client.", "max")
add("gauge", "clients", "Clients, by the state of their session.")
add("gauge", "validity_seconds", "The least validity of all holds; absent if nothing is held.", "min")
add("counter", "metrics_errors_total", "Values that did not fit into the shared dictionary.")

for _, name in ipairs { "zklock_oldest_wait_seconds", "zklock_oldest_hold_seconds" } do
  families.of[name].is_age = true
end

--- The upper bounds of the buckets in seconds.
families.bounds = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, math.huge }

--- The values that labels can have; of `lock` any name.
families.results = { "acquired", "timeout", "cancelled", "disconnected", "busy", "deadlock", "closed", "error" }
families.reasons = { "expired", "deleted", "max_hold" }
families.runs = { "ran", "skipped", "failed" }
--- A closed client is counted in none of them.
families.states = { "connecting", "connected", "suspended", "expired", "auth failed" }

--- So many names of locks are labels; further ones are this one.
families.NAMES_MOST, families.OTHER = 100, "other"

return families
