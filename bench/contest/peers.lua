-- SPDX-License-Identifier: MIT
--- The peers that take part, one line each.
--
--   id       in file names and as a worker's first word          title    in tables
--   family   which servers (servers.lua)                         program  in build/contest, or a command (crew.lua)
--   way      the variant that the program is told               manual   whose advice the program follows
--   absent   why it takes no part; it stays in the tables
--   waits    how a waiter hears that the lock is free
--   lots     it takes part where one client has many locks

local peers = {}

local ZOOKEEPER = "https://zookeeper.apache.org/doc/r3.8.0/recipes.html#sc_recipes_Locks"
local REDIS = "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/"
local REDISSON = "https://redisson.pro/docs/data-and-services/locks-and-synchronizers/"

peers.list = {
  { id = "row", title = "MariaDB, `FOR UPDATE`", family = "mariadb", program = "mariadb", way = "row", waits = "server",
    manual = "https://mariadb.com/kb/en/for-update/" },
  { id = "key", title = "MariaDB, unique key", family = "mariadb", program = "mariadb", way = "unique", waits = "polls",
    manual = "https://mariadb.com/kb/en/auto_increment/" },
  { id = "redis", title = "Redis, `SET NX PX`", family = "redis", program = "redis", way = "plain", waits = "polls",
    manual = REDIS },
  { id = "watchdog", title = "the same, with a watchdog", family = "redis", program = "redis", way = "watchdog",
    waits = "polls", manual = REDIS },
  { id = "redlock", title = "Redlock, five servers", family = "redlock", program = "redis", way = "redlock",
    waits = "polls", manual = REDIS },
  { id = "redisson", title = "Redisson's way", family = "redis", program = "redisson", way = "-", waits = "message",
    manual = REDISSON },
  { id = "redisson-fair", title = "Redisson's way, fair", family = "redis", program = "redisson", way = "fair",
    waits = "message", manual = REDISSON },
  { id = "herd", title = "ZooKeeper, one node", family = "zookeeper", program = "zookeeper", way = "herd",
    waits = "watch", manual = "https://zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html" },
  { id = "children", title = "ZooKeeper, children watched", family = "zookeeper", program = "zookeeper",
    way = "children", waits = "watch", manual = ZOOKEEPER },
  { id = "predecessor", title = "ZooKeeper, predecessor watched", family = "zookeeper", program = "zookeeper",
    way = "predecessor", waits = "watch", manual = ZOOKEEPER },
  { id = "recipe", title = "ZooKeeper's own recipe in C", family = "zookeeper", program = "recipe", way = "-",
    waits = "watch", manual = ZOOKEEPER },
  { id = "curator", lots = true, title = "Curator", family = "zookeeper", program = "curator", way = "-",
    waits = "watch",
    manual = "https://curator.apache.org/docs/recipes-shared-reentrant-lock" },
  { id = "kazoo", lots = true, title = "kazoo", family = "zookeeper", program = "kazoo", way = "-", waits = "watch",
    manual = "https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html" },
  { id = "gozk", lots = true, title = "Go's zk", family = "zookeeper", program = "gozk", way = "-", waits = "watch",
    manual = "https://pkg.go.dev/github.com/samuel/go-zookeeper/zk#Lock" },
  { id = "etcd", lots = true, title = "etcd", family = "etcd", program = "etcd", way = "-", waits = "watch",
    manual = "https://pkg.go.dev/go.etcd.io/etcd/clientv3/concurrency#Mutex" },
  { id = "zklock", lots = true, title = "**zklock**", family = "zookeeper", program = "zklock", way = "-",
    waits = "watch",
    manual = "api.md" },
  { id = "zklock-unfair", title = "**zklock**, `fair = false`", family = "zookeeper", program = "zklock",
    way = "unfair", waits = "watch", manual = "api.md" },
  { id = "flock", title = "flock(1), one machine", family = "folder", program = "flock", way = "-", waits = "kernel",
    manual = "https://man7.org/linux/man-pages/man2/flock.2.html" },
}

--- One that does not lock: whoever does not see it oversell is blind. In no table.
peers.broken = { id = "broken", title = "none", family = "folder", program = "flock", way = "broken", waits = "-" }

--- Those that can run.
function peers.present()
  local list = {}
  for _, one in ipairs(peers.list) do
    if not one.absent then list[#list + 1] = one end
  end
  return list
end

---@param id string
---@return table peer
function peers.get(id)
  if id == peers.broken.id then return peers.broken end
  for _, one in ipairs(peers.list) do
    if one.id == id then return one end
  end
  error("no peer " .. tostring(id), 2)
end

return peers
