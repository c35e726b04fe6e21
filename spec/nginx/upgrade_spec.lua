-- SPDX-License-Identifier: MIT
--- A newer zklock under an nginx that runs: docs/openresty.md, "To upgrade".

local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local uv = require "luv"

if not nginx.is_testable() then
  describe("an upgrade inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local OLDER = require "zklock.version"
local NEWER = (OLDER:gsub("%d", "9"))

describe("an upgrade inside nginx", function()
  local here = fixture.new("/nginx-upgrade")

  local function copy(from, to)
    assert.equal(0, (process.spawn({ "cp", "-r", from, to, env = process.PLAIN }):wait()))
  end

  --- Replaces the files of a tree as an installation does: each is a new file.
  local function install(tree, version)
    assert.equal(#OLDER, #version)
    os.remove(tree .. "/core.so")
    os.remove(tree .. "/zklock/core.so")
    copy(nginx.tree() .. "/lua/.", tree)
    copy(nginx.build() .. "/zklock/core.so", tree .. "/core.so")
    local module = file.read(tree .. "/core.so"):gsub("%z" .. OLDER:gsub("%.", "%%.") .. "%z", function(text)
      return text:sub(1, 1) .. version .. text:sub(-1)
    end)
    file.write(tree .. "/core.so", module)
    assert(os.rename(tree .. "/core.so", tree .. "/zklock/core.so"))
    file.write(tree .. "/zklock/version.lua", ("return %q;\n"):format(version))
    return tree
  end

  local function path_of(tree)
    return ('lua_package_path "%s/?.lua;%s/?/init.lua;;"; lua_package_cpath "%s/?.so;;";'):format(tree, tree, tree)
  end

  --- nginx, which includes `tree.conf`, where the path is switched.
  local function start(tree, http)
    local prefix = folder.new("nginx")
    file.write(prefix .. "/tree.conf", path_of(tree))
    local web = here:nginx { prefix = prefix, workers = 1, package_path = "include @prefix@/tree.conf;",
      package_cpath = "", http = http,
      server = [[ location / { content_by_lua_block { ngx.print(require("zklock")._VERSION) } } ]] }
    assert.equal(200, (web:get("/")))
    return web, prefix
  end

  local function version_of(web) return (select(2, web:get("/"))) end

  for title, http in pairs { ["loaded by its workers"] = "",
    ["preloaded by its master"] = [[ init_by_lua_block { require "zklock" } ]] } do
    it(title .. " takes place when the path is switched to another tree, at a reload", function()
      local older, newer = install(folder.new("tree"), OLDER), install(folder.new("tree"), NEWER)
      local web, prefix = start(older, http)
      assert.equal("zklock " .. OLDER, version_of(web))
      file.write(prefix .. "/tree.conf", path_of(newer))
      assert.is_true(nginx.await_end(web:reload()))
      assert.equal("zklock " .. NEWER, version_of(web))
      assert.same({}, web:errors())
    end)
  end

  describe("with USR2, in the tree that the master has loaded,", function()
    local tree, prefix, web

    local function get(path) return (select(2, web:get(path))) end

    before_each(function()
      tree, prefix = install(folder.new("tree"), OLDER), folder.new("nginx")
      file.write(prefix .. "/tree.conf", path_of(tree))
      web = here:nginx { prefix = prefix, workers = 1, orphan = true, package_path = "include @prefix@/tree.conf;",
        package_cpath = "", http = [[
          init_by_lua_block { require "zklock" }
          init_worker_by_lua_block {
            client = assert(require("zklock").connect("@hosts@"))
          }
        ]], server = [[
          location / { content_by_lua_block { ngx.print(require("zklock")._VERSION) } }
          location /hold { content_by_lua_block {
            local lock = client:mutex("@path@")
            assert(lock:acquire(60))
            ngx.print(require("zklock")._VERSION)
            ngx.flush(true)
            ngx.sleep(0.5) -- a holder
            ngx.print(" ", lock:is_held())
          } }
        ]] }
      assert.equal("zklock " .. OLDER, get("/"))
    end)

    it("takes place, and the requests of the old workers are granted and finish", function()
      local other = here:second_process()
      assert(other:acquire(here.path, here.patience))
      local first = web:begin("/hold")
      here:becomes(2)
      install(tree, NEWER)
      local worker = web:workers()[1]
      local old = web:upgrade()
      uv.kill(old, "sigquit")
      here:eventually(function() -- the old worker accepts no more
        return file.read(("/proc/%d/cmdline"):format(worker)):find("is shutting down", 1, true)
      end, "the end of the old worker's service")
      assert.equal("zklock " .. NEWER, get("/"))
      local second = web:begin("/hold")
      here:becomes(3)
      assert(other:release(here.path))
      assert.same({ 200, "zklock " .. OLDER .. " true" }, { first:finish() })
      assert.same({ 200, "zklock " .. NEWER .. " true" }, { second:finish() })
      assert.is_true(nginx.await_end { old })
      here:becomes(0)
      assert.same({}, web:errors())
    end)
  end)

  it("in a tree that the master has loaded fails at a reload, and the old workers go on", function()
    local tree = install(folder.new("tree"), OLDER)
    local web = start(tree, [[ init_by_lua_block { require "zklock" } ]])
    local workers = web:workers()
    install(tree, NEWER)
    assert.equal(0, uv.kill(web.pid, "sighup"))
    here:eventually(function() return #web:errors() > 0 end, "an error")
    local told = ("the Lua files are of version %s, the C module zklock.core is of version %s."):format(NEWER, OLDER)
    assert.matches(told, web:log(), 1, true)
    assert.same(workers, web:workers())
    assert.equal("zklock " .. OLDER, version_of(web))
  end)
end)
