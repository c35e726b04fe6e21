-- SPDX-License-Identifier: MIT
-- Checks the message of each commit after the one that added this file: a subject `area: effect` of at most 72 columns,
-- a blank line, and a body that says why. Merge commits are exempt.
-- Without the history it prints one line, `skipped: REASON`, and succeeds: in a shallow clone, or an unpacked tarball.
-- usage: lua5.4 tools/commits.lua     in the root of the tree

local COLUMNS = 72

--- The output of a git command, or nil when it fails. The user's configuration does not change the output.
local function git(arguments)
  local pipe = assert(io.popen("git -c log.showSignature=false " .. arguments .. " 2>/dev/null"))
  local text = pipe:read("a")
  return pipe:close() and text or nil
end

local function skip(reason)
  print("skipped: " .. reason)
  os.exit(true)
end

--- The commit that added this file.
local function base()
  local prefix = git "rev-parse --show-prefix"
  if not prefix then skip "git finds no repository here" end
  if prefix ~= "\n" then skip "the repository is another project's" end
  if git "rev-parse --is-shallow-repository" ~= "false\n" then skip "the clone is shallow" end
  local added = git "log --diff-filter=A --no-renames --format=%H -- tools/commits.lua" or ""
  return added:match "(%x+)\n$" or skip "no commit has added tools/commits.lua"
end

local function columns(line)
  return utf8.len(line) or #line
end

--- Whether a line of the body explains anything: a trailer such as `Signed-off-by: NAME` does not.
local function explains(line)
  return line:find "%S" and not line:find "^%S+%-by: "
end

--- Whether a subject begins with an area, or with several: `lines: EFFECT`, `lines, nodes: EFFECT`.
local function has_area(subject)
  local areas = subject:match "^([^:]+): %S"
  for area in ((areas or " ") .. ", "):gmatch "(.-), " do
    if not area:find "^[%w_][%w_./-]*$" then return false end
  end
  return true
end

--- The rules that a message breaks.
local function faults(message)
  local found, lines = {}, {}
  for line in message:gmatch "([^\n]*)\n?" do lines[#lines + 1] = line end
  local subject, why = lines[1], false
  if not has_area(subject) then
    found[#found + 1] = "the subject must be `area: effect`"
  end
  if columns(subject) > COLUMNS then
    found[#found + 1] = ("the subject must have at most %d columns, it has %d"):format(COLUMNS, columns(subject))
  end
  if (lines[2] or "") ~= "" then
    found[#found + 1] = "a blank line must follow the subject"
  end
  for index = 2, #lines do why = why or explains(lines[index]) end
  if not why then
    found[#found + 1] = "a body must say why"
  end
  return found
end

local log = git("log -z --encoding=UTF-8 --no-merges --ancestry-path --format=%H%n%B " .. base() .. "..HEAD")
assert(log, "git log failed")
local failed = false
for commit, message in log:gmatch "(%x+)\n([^\0]*)" do
  for _, fault in ipairs(faults(message)) do
    failed = true
    print(("%s: %s: %s"):format(commit:sub(1, 10), fault, message:match "^[^\n]*"))
  end
end
os.exit(not failed)
