-- SPDX-License-Identifier: MIT
--- Several busted processes share the same spec files: each file runs in the process that claims it first. They say why
--- a test is skipped, for tools/suites.lua.
--
--   CLAIMS=DIR busted --helper=spec/support/share.lua FILE_OR_FOLDER...
--
-- All of them are given the same files, in the order in which they are to begin. DIR is an empty folder; a claim is a
-- folder in it, because mkdir is atomic. A file that is named twice runs once.

local busted = require "busted"
local uv = require "luv"

local CLAIMS = assert(os.getenv("CLAIMS"), "CLAIMS must name a folder")
uv.fs_mkdir(CLAIMS, 448) -- the first of them makes it

local function claim(name)
  local mark = CLAIMS .. "/" .. name:gsub("^%./", ""):gsub("/", "%%")
  local made, err, code = uv.fs_mkdir(mark, 448)
  assert(made or code == "EEXIST", err)
  return made
end

local files, at = {}, 0

--- Claims the next file. busted passes over an element whose descriptor it does not know.
local function next_file()
  repeat
    at = at + 1
    local file = files[at]
    local mine = not file or claim(file.name)
    if not mine then file.descriptor = "claimed" end
  until mine
end

busted.subscribe({ "suite", "start" }, function(suite)
  files = suite.file or files
  next_file()
end)
busted.subscribe({ "file", "end" }, next_file)

-- busted's gtest names the tests that are skipped, not the reasons.
busted.subscribe({ "pending" }, function(test, _, reason)
  reason = tostring(reason):gsub("^%S+:%d+: ", "") -- where it was said
  io.write(("skipped: %s @ %d: %s: %s\n"):format(test.trace.short_src, test.trace.currentline, test.name, reason))
end)
