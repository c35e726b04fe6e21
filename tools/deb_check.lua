-- SPDX-License-Identifier: MIT
-- Runs tools/deb_check.sh in a minimal Debian (tools/bare.sh), beside a ZooKeeper server of this machine.
-- usage: lua5.4 tools/deb_check.lua FOLDER     with the packages in FOLDER/first and FOLDER/second

local server = require "spec.support.server"

local folder = assert(arg[1], "FOLDER expected")
local zk = server.start()
local command = ("BARE_WITH='%s' tools/bare.sh 'tools/deb_check.sh /root/with %s'"):format(folder, zk.hosts)
local ok = os.execute(command)
zk:stop()
os.exit(ok == true)
