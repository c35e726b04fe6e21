-- SPDX-License-Identifier: MIT
--- One temporary folder for all that this process's harness writes, and a guard that removes it.
--
-- The guard is a shell in a session of its own that reads a pipe whose other end we hold: the pipe closes when this
-- process ends, in whatever way, and the guard removes the folder. Ctrl-C and signals to our group do not reach it.

local uv = require "luv"
local kept = require "spec.support.kept" "folder"
local process = require "spec.support.process"

local folder = {}

local GUARD = [[
trap '' HUP INT TERM
echo ready
while read -r line; do :; done
for again in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf -- "$0" 2>/dev/null && exit 0
  sleep 0.2
done
]]

--- The harness's own temporary folder.
---@return string path
function folder.root()
  if not kept.root then
    local root = assert(uv.fs_mkdtemp(uv.os_tmpdir() .. "/zklock-spec-XXXXXX"))
    kept.root, kept.count = root, 0
    kept.guard = process.spawn { "sh", "-c", GUARD, root, detached = true, survive = true, cwd = "/",
      env = process.PLAIN }
    assert(kept.guard:read_line() == "ready", "the temporary folder's guard did not start")
  end
  return kept.root
end

--- A fresh folder below it.
---@param purpose string becomes part of the name
---@return string path
function folder.new(purpose)
  local root = folder.root()
  kept.count = kept.count + 1
  local path = ("%s/%s-%d"):format(root, purpose, kept.count)
  assert(uv.fs_mkdir(path, 448))
  return path
end

--- Writes a file below the root.
---@return string path
function folder.file(purpose, text)
  local path = folder.new(purpose) .. "/" .. purpose
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

--- Removes a folder and what is in it.
function folder.remove(path)
  local root = folder.root()
  assert(path:sub(1, #root + 1) == root .. "/", "not a folder of the harness: " .. tostring(path))
  process.spawn({ "rm", "-rf", "--", path, env = process.PLAIN }):wait()
end

return folder
