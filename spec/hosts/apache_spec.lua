-- SPDX-License-Identifier: MIT
--- mod_lua in a real Apache httpd, with examples/hosts/apache.

local daemon = require "spec.support.daemon"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local port = require "spec.support.port"
local sales = require "spec.support.sales"
local uv = require "luv"

local TREE, ROOT = uv.cwd(), "/shop/apache"

local BEFORE = [[
ServerRoot @at@
LuaPackagePath @tree@/lua/?.lua
LuaPackagePath @tree@/lua/?/init.lua
LuaPackageCPath @tree@/build/5.3/?.so
]]

daemon.describe("apache2", "apache2-bin", "in Apache httpd #once #bare #flood", function(program)
  if not lfs.attributes("build/5.3/zklock/core.so") then
    return it("needs the module for Lua 5.3", function() pending("skipped: make build LUAS=5.3 makes it") end)
  end
  local here = fixture.new(ROOT)

  before_each(function() sales.open(here, ROOT) end)

  local function start(script)
    local values = { at = folder.new("apache"), tree = TREE }
    local number = port.free()
    local before = BEFORE:gsub("@(%w+)@", values)
    if uv.getuid() == 0 then before = before .. "User nobody\nGroup nogroup\n" end
    local conf = file.read("examples/hosts/apache/httpd.conf"):gsub("127%.0%.0%.1:8080", "127.0.0.1:" .. number)
      :gsub("httpd%.log", "log")
    file.write(values.at .. "/httpd.conf", before .. file.replace(conf, "shop.lua", script))
    local env = { ZOOKEEPER = here.zk.hosts, LUA_PATH = false, LUA_CPATH = false } -- those of the specs' own Lua
    local one = daemon.start { folder = values.at, port = number, env = env,
      command = { program, "-DFOREGROUND", "-f", values.at .. "/httpd.conf" } }
    return here:closes(one, one.stop)
  end

  it("sells exactly once per request, in several threads", function()
    local web = start(TREE .. "/examples/hosts/apache/shop.lua")
    sales.are(here, ROOT, sales.sell(web, "/sell", 20, 5))
  end)

  it("keeps a lock that a request has forgotten to release", function()
    local script = folder.new("script") .. "/forgets.lua"
    file.write(script, [[
local zklock = require "zklock"
function handle(r)
  client = rawget(_G, "client") or assert(zklock.connect(os.getenv("ZOOKEEPER")))
  r:puts(assert(client:mutex("/shop/apache/lock"):acquire(60)))
  return apache2.OK
end
]])
    for name in script:gmatch("()/") do -- the folders are ours alone
      local path = script:sub(1, name - 1)
      if path:find("zklock") then uv.fs_chmod(path, 493) end
    end
    local web = start(script)
    assert.equal(200, (web:get("/sell")))
    here:becomes(1, ROOT .. "/lock")
  end)
end)
