-- SPDX-License-Identifier: MIT
--- Each kind of lock, as the sweeps over the wire play it: who stands where, and what nodes that takes.
--
-- `first` is before ours and excludes it, `last` is behind ours and is excluded by both. The counts are nodes, in all
-- the kind's directories together: of `first` and ours as they hold, of ours and `last` as they wait.

---@class spec.Kind
---@field open table<string, fun(client: table, path: string): table> by role: a lock to ask for
---@field beside table<string, boolean>? roles that let others like them in
---@field directories fun(path: string): string[]
---@field counts { first: integer, holding: integer, waiting: integer, last: integer }
---@field leases integer? so many are what a grant is of; else it is a hold
---@field holding fun(path: string): string[] the directories in which ours is first when it holds

---@type table<string, spec.Kind>
local kinds = {}

local ONE_EACH = { first = 1, holding = 1, waiting = 1, last = 1 }

local function itself(path) return { path } end

local function mutex(client, path) return client:mutex(path) end
local UNFAIR = { fair = false, linger = 0 } -- the node goes with its holder, as the scenarios expect
local function place(client, path) return client:mutex(path, UNFAIR) end
local function read_place(client, path) return client:rwlock(path, UNFAIR).read end
local function read(client, path) return client:rwlock(path).read end
local function write(client, path) return client:rwlock(path).write end

kinds.mutex = {
  open = { first = mutex, ours = mutex, last = mutex },
  directories = itself, holding = itself, counts = ONE_EACH,
}

kinds["mutex with fair = false"] = {
  open = { first = mutex, ours = place, last = mutex },
  directories = itself, holding = itself, counts = ONE_EACH,
}

kinds["read lock with fair = false"] = {
  open = { first = write, ours = read_place, last = write }, beside = { ours = true },
  directories = itself, holding = itself, counts = ONE_EACH,
}

kinds["read lock"] = {
  open = { first = write, ours = read, last = write }, beside = { ours = true },
  directories = itself, holding = itself, counts = ONE_EACH,
}

kinds["write lock"] = {
  open = { first = read, ours = write, last = read }, beside = { first = true, last = true },
  directories = itself, holding = itself, counts = ONE_EACH,
}

kinds["write lock among writers"] = {
  open = { first = write, ours = write, last = write },
  directories = itself, holding = itself, counts = ONE_EACH,
}

local function parts(path) return { path .. "/a", path .. "/b", path .. "/c" } end

kinds.multilock = {
  open = {
    first = function(client, path) return client:mutex(path .. "/b") end,
    ours = function(client, path) return client:multilock(parts(path)) end,
    last = function(client, path) return client:multilock { path .. "/c", path .. "/b" } end,
  },
  directories = parts, holding = parts, counts = { first = 1, holding = 3, waiting = 3, last = 2 },
}

local PERMITS = 2

local function semaphore(client, path) return client:semaphore(path, PERMITS) end

-- All take both leases, so that they exclude each other. A waiter for leases has its nodes among them, and the gate.
kinds.semaphore = {
  open = { first = semaphore, ours = semaphore, last = semaphore }, leases = PERMITS,
  directories = function(path) return { path .. "/locks", path .. "/leases" } end,
  holding = function(path) return { path .. "/leases" } end,
  counts = { first = PERMITS, holding = PERMITS, waiting = 1 + PERMITS, last = 1 },
}

return kinds
