-- SPDX-License-Identifier: MIT
-- Shows a terminal at which somebody uses `zklock run`, up to the moment at which a run waits for its lock.
--
-- usage: tools/run_picture.lua | lua5.4 tools/picture.lua TITLE      below the LUA_PATH and LUA_CPATH of the specs;
-- `make picture` draws docs/images/run.svg of it

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local server = require "spec.support.server"
local terminal = require "spec.support.terminal"
local uv = require "luv"
local zklock = require "zklock"

local PATIENCE = 60

local at = folder.new("picture")
for name, line in pairs { report = "echo writing the report", deploy = "echo deploying" } do
  file.write(at .. "/" .. name, "#!/bin/sh\n" .. line .. "\n")
  assert(uv.fs_chmod(at .. "/" .. name, 448))
end

local zk = server.shared()
local holder = assert(zklock.connect(zk.hosts, { identifier = "db7:4242" }))
local deploy = holder:mutex("/deploy/shop")
assert(deploy:acquire(PATIENCE))

local shell = terminal.start("bash", { ZKLOCK_SERVERS = zk.hosts, ZKLOCK_CONFIG = "/dev/null",
  PATH = uv.cwd() .. "/build:" .. os.getenv("PATH") })
shell:run("cd " .. at)

local function show(line) io.write("\27[1m$ ", line, "\27[m\n", shell:run(line, PATIENCE)) end

show "zklock run --every 50m /jobs/report ./report"
show "zklock run --every 50m /jobs/report ./report"
show "zklock run -n /deploy/shop ./deploy"
show "zklock who /deploy/shop"
local waiting = "zklock run /deploy/shop ./deploy"
shell:enter(waiting)
local _, line = shell:await("(waiting for [^\r\n]*, 7 s)", PATIENCE)
io.write("\27[1m$ ", waiting, "\27[m\n", line, "\n")
shell:control "c"
shell:await_prompt(PATIENCE)
shell:close()
holder:close()
