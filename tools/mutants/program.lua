-- SPDX-License-Identifier: MIT
-- How the tests are compiled and linked, read from what make would do: nothing here has to follow its rules.

-- For how long the simulation runs, and what it is told for that.
local program = { SIMULATION_SECONDS = 5 }
program.SIMULATED = (" %d 1 stop"):format(program.SIMULATION_SECONDS)
-- The arguments with which it looks only whether the same is asked for as ever.
program.COSTS = " costs spec/sim/costs.txt"
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

-- Most unit tests take the engine as it is. They are linked once, with a library of it that is made anew for each
-- mutant.

local function is_plain(self, line)
  return line:find((" %s/libengine.a "):format(self.build), 1, true)
    and not line:find((" %s/libcounted.a "):format(self.build), 1, true) and not variant(self, line)
end

--- Those of them, in BUILD/shared.
function program:share()
  local folder = self.build .. "/shared"
  os.execute("mkdir -p " .. folder)
  assert(self:link_engine(folder), "the engine as a library does not link")
  for _, name in ipairs(self.tests) do
    local line = self.linked[name]
    if is_plain(self, line) then
      local output = folder .. "/" .. name:match("[^/]+$")
      line = line:gsub(" %-o " .. plain(name) .. " ", " -rdynamic -fuse-ld=gold -o " .. output .. " ")
      assert(run((line:gsub(" %S+/libengine%.a ", " " .. folder .. "/libengine.so "))), name .. " does not link")
      assert(not run(output), name .. " does not ask for the library")
    end
  end
end

--- The library in `folder`, with engine.o from there in the place of `original`, if that is said.
function program:link_engine(folder, original)
  local objects = {}
  for object in pairs(self.compiled) do
    if object:find(self.build .. "/engine/", 1, true) == 1 and object ~= original then
      objects[#objects + 1] = object
    end
  end
  table.sort(objects)
  objects[#objects + 1] = original and folder .. "/engine.o"
  return run(("cc -shared -Wl,-soname,libengine.so -fuse-ld=gold -o %s/libengine.so %s -lzookeeper_mt -pthread"):format(
    folder, table.concat(objects, " ")))
end

--- Links a program anew, with the object in `folder` in the place of the engine's own: it stands before the archives,
--- so that nobody looks for those names in there. Whether it links, and its path.
local function link_alone(self, name, file, folder)
  local line = self.linked[name]
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
  return run(again), output
end

local function with_library(self, name, folder)
  return ("env LD_LIBRARY_PATH=%s %s/shared/%s"):format(folder, self.build, name:match("[^/]+$"))
end

--- How a program is started in which nothing is changed.
function program:unchanged(name)
  return is_plain(self, self.linked[name]) and with_library(self, name, self.build .. "/shared") or name
end

--- How a program is started that has the mutant in `folder`, of that file and its object.
function program:start(name, file, folder, original)
  if not is_plain(self, assert(self.linked[name])) then
    local linked, output = link_alone(self, name, file, folder)
    assert(linked, name .. " does not link")
    return output
  end
  if not self.has_engine then
    assert(self:link_engine(folder, original), "the engine as a library does not link")
    self.has_engine = true
  end
  return with_library(self, name, folder)
end

return program
