-- SPDX-License-Identifier: MIT
-- The record of mutants: what became of those that were tried, so that a run goes on where the last one ended; and
-- which of them nobody has to kill, and why.

local ledger = {}
ledger.__index = ledger

local FIELDS = "^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)$"

--- Of a file: one line for each mutant that was tried; the last one of a name counts.
function ledger.open(path)
  local self = setmetatable({ path = path, known = {}, kills = {} }, ledger)
  local file = io.open(path)
  for line in file and file:lines() or function() end do
    local verdict, by, seconds, stamp, name = line:match(FIELDS)
    if verdict then
      self:remember(name, { verdict = verdict, by = by, seconds = tonumber(seconds), stamp = stamp })
    end
  end
  if file then
    file:close()
  end
  return self
end

local function count(kills, key, by)
  kills[key] = kills[key] or {}
  kills[key][by] = (kills[key][by] or 0) + 1
end

function ledger:remember(name, result)
  self.known[name] = result
  if result.verdict == "killed" then
    count(self.kills, name:match("^%S+ %S+:"), result.by)
    count(self.kills, name:match("^%S+"), result.by)
  end
end

--- Its result, if nothing that it rests on has changed since: of one that was killed, its source; of one that
--- survived (some tests: "open"), all sources and tests, for a new test may kill it.
function ledger:recall(name, source_stamp, stamp)
  local result = self.known[name]
  local lives = result and (result.verdict == "survived" or result.verdict == "open")
  if result and result.stamp == (lives and stamp or source_stamp) then
    return result
  end
end

function ledger:write(name, result)
  local file = assert(io.open(self.path, "a"))
  file:write(table.concat({ result.verdict, result.by, result.seconds, result.stamp, name }, "\t"), "\n")
  file:close()
  self:remember(name, result)
end

--- The tests in the order in which one of them soon fails: by what they have killed in that function and in that file,
--- for each second that they take.
function ledger:order(tests, name, seconds)
  local near, far = self.kills[name:match("^%S+ %S+:")] or {}, self.kills[name:match("^%S+")] or {}
  local worth = {}
  for _, test in ipairs(tests) do
    worth[test] = (0.1 + 10 * (near[test] or 0) + (far[test] or 0)) / (0.05 + (seconds[test] or 0))
  end
  local order = { table.unpack(tests) }
  table.sort(order, function(a, b) return worth[a] > worth[b] end)
  return order
end

-- ---- those that nobody has to kill ----

local judged = {}
judged.__index = judged

--- spec/equivalent.txt: "FILE FUNCTION: KIND, KIND #2, ... -- reason", where a KIND is what is done to a piece of that
--- function, and #2 is the second piece to which it can be done (`key` of tools/mutants/syntax.lua).
--- "saves work" is all that lets the function's first `if` save less, and "*" is all of a function.
--- spec/uncovered.txt: "FILE: line -- reason", of lines that no unit test and no simulation runs through.
function ledger.judged(equivalent, uncovered)
  local self = setmetatable({ mutants = {}, lines = {} }, judged)
  for line in io.lines(equivalent) do
    local where, kinds, reason = line:match("^(%S+ %S+: )(.-) %-%- (.+)$")
    for kind in (kinds or ""):gmatch("[^,]+") do
      self.mutants[where .. kind:match("^%s*(.-)%s*$")] = reason
    end
  end
  for line in io.lines(uncovered) do
    local file, text, reason = line:match("^(%S+): (.-) %-%- (.+)$")
    if file then
      self.lines[file .. ": " .. text] = reason
    end
  end
  return self
end

function judged:reason(change)
  local file = change.file:gsub("^csrc/", "")
  return self.mutants[change.key] or change.look and self.mutants[change.look]
    or self.mutants[("%s %s: *"):format(file, change.place)]
    or self.lines[("%s: %s"):format(file, change.line_text)] or self.lines[file .. ": *"]
end

--- The entries about these files that no change belongs to, and those about files that are not there.
function judged:strangers(changes, is_file)
  local there, strangers, files = {}, {}, {}
  for _, change in ipairs(changes) do
    local file = change.file:gsub("^csrc/", "")
    there[change.key], there[("%s %s: *"):format(file, change.place)], files[file] = true, true, true
    if change.look then
      there[change.look] = true
    end
  end
  for name in pairs(self.mutants) do
    local file = name:match("^%S+")
    if files[file] and not there[name] or not is_file(file) then
      strangers[#strangers + 1] = name
    end
  end
  table.sort(strangers)
  return strangers
end

--- The files of which a mutant is judged.
function judged:files()
  local known, files = {}, {}
  for name in pairs(self.mutants) do
    local file = name:match("^%S+")
    if not known[file] then
      known[file], files[#files + 1] = true, file
    end
  end
  table.sort(files)
  return files
end

--- The entries about lines that are not there. `source_of(file)`: its text, or nil.
function judged:stale_lines(source_of)
  local stale = {}
  for name in pairs(self.lines) do
    local file, text = name:match("^(%S+): (.*)$")
    local source = source_of(file)
    if not source or text ~= "*" and not source:find(text, 1, true) then
      stale[#stale + 1] = name
    end
  end
  table.sort(stale)
  return stale
end

return ledger
