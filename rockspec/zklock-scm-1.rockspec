package = "zklock"
version = "scm-1"
source = {
  url = "git+https://github.com/zklock/zklock.git",
}
description = {
  summary = "Distributed locks over ZooKeeper",
  detailed = [[
Locks that processes on many machines share through ZooKeeper: fair, reentrant, with fencing tokens, freed when their
holder dies. They exclude, and are excluded by, Apache Curator's.]],
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = {
  "lua >= 5.1, < 5.5",
}
external_dependencies = {
  ZOOKEEPER = { header = "zookeeper/zookeeper.h", library = "zookeeper_mt" },
}
build = {
  type = "builtin",
  modules = {
    ["zklock.core"] = {
      sources = {
        "csrc/engine/ask.c",
        "csrc/engine/bell.c",
        "csrc/engine/clock.c",
        "csrc/engine/contender.c",
        "csrc/engine/descriptors.c",
        "csrc/engine/engine.c",
        "csrc/engine/errand.c",
        "csrc/engine/event.c",
        "csrc/engine/exit.c",
        "csrc/engine/group.c",
        "csrc/engine/keeper.c",
        "csrc/engine/line.c",
        "csrc/engine/lines.c",
        "csrc/engine/log.c",
        "csrc/engine/parents.c",
        "csrc/engine/port_zookeeper.c",
        "csrc/engine/process.c",
        "csrc/engine/query.c",
        "csrc/engine/registry.c",
        "csrc/engine/rescue.c",
        "csrc/engine/revocation.c",
        "csrc/engine/roster.c",
        "csrc/engine/servers.c",
        "csrc/engine/session.c",
        "csrc/engine/snapshot.c",
        "csrc/engine/standing.c",
        "csrc/engine/status.c",
        "csrc/engine/subject.c",
        "csrc/engine/timer.c",
        "csrc/engine/tls.c",
        "csrc/engine/verdict.c",
        "csrc/engine/visit.c",
        "csrc/engine/znode.c",
        "csrc/lua/bell.c",
        "csrc/lua/client.c",
        "csrc/lua/contender.c",
        "csrc/lua/core.c",
        "csrc/lua/query.c",
        "csrc/lua/visit.c",
      },
      defines = { "THREADED", "_GNU_SOURCE" },
      incdirs = { "csrc/engine", "$(ZOOKEEPER_INCDIR)" },
      libdirs = { "$(ZOOKEEPER_LIBDIR)" },
      libraries = { "zookeeper_mt", "pthread" },
    },
    ["zklock"] = "lua/zklock/init.lua",
    ["zklock.anchor"] = "lua/zklock/anchor.lua",
    ["zklock.check"] = "lua/zklock/check.lua",
    ["zklock.client"] = "lua/zklock/client.lua",
    ["zklock.guard"] = "lua/zklock/guard.lua",
    ["zklock.loop"] = "lua/zklock/loop.lua",
    ["zklock.loop.blocking"] = "lua/zklock/loop/blocking.lua",
    ["zklock.lease"] = "lua/zklock/lease.lua",
    ["zklock.participants"] = "lua/zklock/participants.lua",
    ["zklock.semaphore"] = "lua/zklock/semaphore.lua",
    ["zklock.lock"] = "lua/zklock/lock.lua",
    ["zklock.options"] = "lua/zklock/options.lua",
    ["zklock.revoke"] = "lua/zklock/revoke.lua",
    ["zklock.rwlock"] = "lua/zklock/rwlock.lua",
    ["zklock.loop.openresty"] = "lua/zklock/loop/openresty.lua",
    ["zklock.openresty.bell"] = "lua/zklock/openresty/bell.lua",
    ["zklock.openresty.stage"] = "lua/zklock/openresty/stage.lua",
    ["zklock.openresty.visits"] = "lua/zklock/openresty/visits.lua",
    ["zklock.owner"] = "lua/zklock/owner.lua",
    ["zklock.place"] = "lua/zklock/place.lua",
    ["zklock.queue"] = "lua/zklock/queue.lua",
    ["zklock.request"] = "lua/zklock/request.lua",
    ["zklock.waiter"] = "lua/zklock/waiter.lua",
  },
}
