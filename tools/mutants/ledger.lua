-- What is known of mutants: what became of those that were tried, so that a run goes on where the last one ended; and
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

--- What became of it, if nothing that it rests on has changed since: of one that was killed, its source; of one that
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

--- spec/equivalent.txt: "NAME -- reason", where NAME is a mutant's, or "FILE FUNCTION: *".
--- spec/uncovered.txt: "FILE: line -- reason", of lines that no unit test and no simulation runs through.
function ledger.judged(equivalent, uncovered)
  local self = setmetatable({ mutants = {}, lines = {} }, judged)
  for line in io.lines(equivalent) do
    local name, reason = line:match("^(%S+ %S+: .-) %-%- (.+)$")
    if name then
      self.mutants[name] = reason
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
  return self.mutants[change.name] or self.mutants[("%s %s: *"):format(file, change.place)]
    or self.lines[("%s: %s"):format(file, change.line_text)] or self.lines[file .. ": *"]
end

--- Those that are judged and not there.
function judged:strangers(changes)
  local there, strangers, files = {}, {}, {}
  for _, change in ipairs(changes) do
    local file = change.file:gsub("^csrc/", "")
    there[change.name], there[("%s %s: *"):format(file, change.place)], files[file] = true, true, true
  end
  for name in pairs(self.mutants) do
    if files[name:match("^%S+")] and not there[name] then
      strangers[#strangers + 1] = name
    end
  end
  table.sort(strangers)
  return strangers
end

return ledger
