-- How the tests are compiled and linked, read from what make would do: nothing here has to follow its rules.

local program = {}
program.__index = program

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do
    lines[#lines + 1] = line
  end
  return lines
end

--- `commands`: a file with what `make -n -B` says. `build`: the folder that it builds in.
function program.read(commands, build)
  local self = setmetatable({ build = build, compiled = {}, linked = {}, renamed = {}, tests = {} }, program)
  for _, line in ipairs(lines_of(commands)) do
    local object, source = line:match(" %-c %-o (%S+) (%S+)$")
    local linked = line:match("^%S+ .- %-o (%S+) ")
    if object then
      self.compiled[object] = { line = line, source = source, object = object }
    elseif line:find("^%S*objcopy ") then
      local words, archive = line:match("^(.*) %S+%.a (%S+%.a)$")
      if archive then
        self.renamed[archive] = words
      end
    elseif linked and not line:find(" -shared ", 1, true) then
      self.linked[linked] = line
      if linked:find("/unit/[%w_]+_test$") then
        self.tests[#self.tests + 1] = linked
      end
    end
  end
  table.sort(self.tests)
  self.simulation = build .. "/sim/simulation"
  assert(#self.tests > 0 and self.linked[self.simulation], "make says nothing of tests and of the simulation")
  return self
end

local function plain(text)
  return (text:gsub("%p", "%%%0"))
end

local function run(command)
  return os.execute(command .. " >/dev/null 2>&1") == true
end

--- Compiles that source in the place of `file`, as it is compiled for `room` (engine, counted). false: it does not.
function program:compile(room, file, source, object)
  local original = ("%s/%s/%s"):format(self.build, room, file:gsub("^csrc/", ""):gsub("%.c$", ".o"))
  local how = self.compiled[original]
  if not how then
    return nil, original
  end
  local line = how.line:gsub(" %-MMD %-MP", ""):gsub(" %-c %-o %S+ %S+$", (" -c -o %s %s"):format(object, source))
  return run(line), original
end

--- Which object a program wants: that for its archive of the engine.
local function variant(self, line)
  for archive, words in pairs(self.renamed) do
    if line:find(" " .. archive .. " ", 1, true) then
      return archive, words
    end
  end
end

--- Links a program anew, with the object in `folder` in the place of the engine's own: it stands before the archives,
--- so that nobody looks for those names in there.
function program:link(name, file, folder)
  local line = assert(self.linked[name])
  local object = folder .. "/engine.o"
  local archive, words = variant(self, line)
  if line:find(" " .. self.build .. "/libcounted.a ", 1, true) then
    local counted = folder .. "/counted.o"
    if self:compile("counted", file, folder .. "/" .. file:match("[^/]+$"), counted) then
      object = counted
    end
  elseif archive then
    local renamed = ("%s/%s.o"):format(folder, archive:match("[^/]+$"))
    assert(run(("%s %s %s"):format(words, object, renamed)))
    object = renamed
  end
  local output = folder .. "/" .. name:match("[^/]+$")
  local again = line:gsub(" %-o " .. plain(name) .. " ", " -fuse-ld=gold -o " .. output .. " " .. object .. " ", 1)
  return output, run(again)
end

return program
