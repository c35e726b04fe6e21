-- SPDX-License-Identifier: MIT
rockspec_format = "3.0"
package = "zklock"
version = "1.0.0-1"
source = {
  url = "git+https://github.com/zklock/zklock.git",
  tag = "v1.0.0",
}
description = {
  summary = "Distributed locks over ZooKeeper",
  detailed = [[
Locks that processes on many machines share through ZooKeeper: fair, reentrant, with fencing tokens,
freed when their holder dies. They exclude, and are excluded by, Apache Curator's.]],
  license = "MIT",
  homepage = "https://github.com/zklock/zklock",
  issues_url = "https://github.com/zklock/zklock/issues",
  maintainer = "the zklock authors",
  labels = { "zookeeper", "lock", "mutex", "distributed", "concurrency", "openresty", "nginx" },
}
supported_platforms = { "linux" }
dependencies = {
  "lua >= 5.1, < 5.6",
}
-- For `luarocks test`, together with the programs that CONTRIBUTING.md lists for `make test`.
test_dependencies = {
  "busted >= 2.0",
  "copas >= 2.0",
  "cqueues",
  "dkjson >= 2.5",
  "luafilesystem",
  "luasocket >= 3.0",
  "luasql-sqlite3",
  "luv",
}
test = {
  type = "command",
  command = "make DEPS= test", -- `luarocks test -- LUAS=5.4` appends its arguments
}
external_dependencies = {
  ZOOKEEPER = { header = "zookeeper/zookeeper.h", library = "zookeeper_mt" },
}
build = {
  type = "make", -- tools/make/compile.mk has the flags, and which sources there are
  build_target = "rock",
  build_variables = {
    CFLAGS = "$(CFLAGS)",
    CPPFLAGS = "-I$(ZOOKEEPER_INCDIR)",
    LDFLAGS = "-L$(ZOOKEEPER_LIBDIR)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    ZOOKEEPER = "$(ZOOKEEPER)", -- static: the module has libzookeeper in it
  },
  install_pass = false,
  -- With docs and examples LuaRocks leaves out the pages beside them: `conf` has these, so that their links work.
  copy_directories = { "docs", "examples" },
  install = {
    conf = {
      ["../README.md"] = "README.md",
      ["../ARCHITECTURE.md"] = "ARCHITECTURE.md",
      ["../CHANGELOG.md"] = "CHANGELOG.md",
      ["../CONTRIBUTING.md"] = "CONTRIBUTING.md",
      ["../SECURITY.md"] = "SECURITY.md",
      ["../LICENSE"] = "LICENSE",
    },
    lib = {
      ["zklock.core"] = "build/rock/lua/zklock/core.so",
    },
    lua = { -- `make rockspec` writes this list
      ["resty.zklock"] = "lua/resty/zklock.lua",
      ["zklock"] = "lua/zklock/init.lua",
      ["zklock.client"] = "lua/zklock/client.lua",
      ["zklock.guard"] = "lua/zklock/guard.lua",
      ["zklock.held"] = "lua/zklock/held.lua",
      ["zklock.holding"] = "lua/zklock/holding.lua",
      ["zklock.job"] = "lua/zklock/job.lua",
      ["zklock.jobs"] = "lua/zklock/jobs.lua",
      ["zklock.lease"] = "lua/zklock/lease.lua",
      ["zklock.line"] = "lua/zklock/line.lua",
      ["zklock.lock"] = "lua/zklock/lock.lua",
      ["zklock.mark"] = "lua/zklock/mark.lua",
      ["zklock.once"] = "lua/zklock/once.lua",
      ["zklock.options"] = "lua/zklock/options.lua",
      ["zklock.request"] = "lua/zklock/request.lua",
      ["zklock.rwlock"] = "lua/zklock/rwlock.lua",
      ["zklock.semaphore"] = "lua/zklock/semaphore.lua",
      ["zklock.version"] = "lua/zklock/version.lua",
      ["zklock.base.bag"] = "lua/zklock/base/bag.lua",
      ["zklock.base.check"] = "lua/zklock/base/check.lua",
      ["zklock.base.each"] = "lua/zklock/base/each.lua",
      ["zklock.base.errors"] = "lua/zklock/base/errors.lua",
      ["zklock.base.finalizer"] = "lua/zklock/base/finalizer.lua",
      ["zklock.base.flat"] = "lua/zklock/base/flat.lua",
      ["zklock.base.lua51"] = "lua/zklock/base/lua51.lua",
      ["zklock.base.text"] = "lua/zklock/base/text.lua",
      ["zklock.base.yields"] = "lua/zklock/base/yields.lua",
      ["zklock.holds.client_holds"] = "lua/zklock/holds/client_holds.lua",
      ["zklock.holds.hold"] = "lua/zklock/holds/hold.lua",
      ["zklock.holds.kinds"] = "lua/zklock/holds/kinds.lua",
      ["zklock.holds.lock_path"] = "lua/zklock/holds/lock_path.lua",
      ["zklock.holds.losses"] = "lua/zklock/holds/losses.lua",
      ["zklock.holds.paths"] = "lua/zklock/holds/paths.lua",
      ["zklock.holds.relays"] = "lua/zklock/holds/relays.lua",
      ["zklock.loop"] = "lua/zklock/loop/init.lua",
      ["zklock.loop.blocking"] = "lua/zklock/loop/blocking.lua",
      ["zklock.loop.copas"] = "lua/zklock/loop/copas.lua",
      ["zklock.loop.cqueues"] = "lua/zklock/loop/cqueues.lua",
      ["zklock.loop.haproxy"] = "lua/zklock/loop/haproxy.lua",
      ["zklock.loop.luv"] = "lua/zklock/loop/luv.lua",
      ["zklock.loop.openresty"] = "lua/zklock/loop/openresty.lua",
      ["zklock.metrics"] = "lua/zklock/metrics/init.lua",
      ["zklock.metrics.families"] = "lua/zklock/metrics/families.lua",
      ["zklock.metrics.nginx"] = "lua/zklock/metrics/nginx.lua",
      ["zklock.metrics.page"] = "lua/zklock/metrics/page.lua",
      ["zklock.metrics.page_json"] = "lua/zklock/metrics/page_json.lua",
      ["zklock.metrics.part"] = "lua/zklock/metrics/part.lua",
      ["zklock.metrics.publisher"] = "lua/zklock/metrics/publisher.lua",
      ["zklock.metrics.render"] = "lua/zklock/metrics/render.lua",
      ["zklock.metrics.snapshot"] = "lua/zklock/metrics/snapshot.lua",
      ["zklock.metrics.store"] = "lua/zklock/metrics/store.lua",
      ["zklock.metrics.tally"] = "lua/zklock/metrics/tally.lua",
      ["zklock.metrics.view"] = "lua/zklock/metrics/view.lua",
      ["zklock.nodes"] = "lua/zklock/nodes/init.lua",
      ["zklock.nodes.node_requests"] = "lua/zklock/nodes/node_requests.lua",
      ["zklock.nodes.ops"] = "lua/zklock/nodes/ops.lua",
      ["zklock.nodes.watch"] = "lua/zklock/nodes/watch.lua",
      ["zklock.openresty.caretaker"] = "lua/zklock/openresty/caretaker.lua",
      ["zklock.openresty.host"] = "lua/zklock/openresty/host.lua",
      ["zklock.openresty.notifier"] = "lua/zklock/openresty/notifier.lua",
      ["zklock.openresty.runner"] = "lua/zklock/openresty/runner.lua",
      ["zklock.openresty.subrequests"] = "lua/zklock/openresty/subrequests.lua",
      ["zklock.openresty.timer"] = "lua/zklock/openresty/timer.lua",
      ["zklock.openresty.visits"] = "lua/zklock/openresty/visits.lua",
      ["zklock.owners.owner"] = "lua/zklock/owners/owner.lua",
      ["zklock.owners.owner_lifetimes"] = "lua/zklock/owners/owner_lifetimes.lua",
      ["zklock.run.callbacks"] = "lua/zklock/run/callbacks.lua",
      ["zklock.run.dispatcher"] = "lua/zklock/run/dispatcher.lua",
      ["zklock.run.log"] = "lua/zklock/run/log.lua",
      ["zklock.run.query"] = "lua/zklock/run/query.lua",
      ["zklock.run.reporter"] = "lua/zklock/run/reporter.lua",
      ["zklock.run.waits"] = "lua/zklock/run/waits.lua",
      ["zklock.run.watcher"] = "lua/zklock/run/watcher.lua",
    },
  },
}
