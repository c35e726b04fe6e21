-- SPDX-License-Identifier: MIT
--- docs/tutorial.md, done from its top to its end by a reader with three terminals, against a server of the reader's
--- own. #once

local classpath = require "spec.support.classpath"
local file = require "spec.support.file"
local folder = require "spec.support.folder"
local markdown = require "spec.support.markdown"
local port = require "spec.support.port"
local process = require "spec.support.process"
local script = require "spec.support.script"
local socket = require "socket"
local wait = require "spec.support.wait"

local PAGE = "docs/tutorial.md"
local PATIENCE = wait.PATIENCE
local PORT = "2181"

--- Runs a script as a terminal does, which shows each line at once.
local AT_A_TERMINAL = [[
  io.stdout:setvbuf("line")
  arg = { [0] = ..., select(2, ...) }
  dofile(arg[0])
]]

-- ---- what the page shows, and what is seen -----------------------------------------------------------------------

--- A line without what may differ: seconds above 0, and tokens, which it notes.
local function shape(line, tokens)
  line = line:gsub("%f[%d]%d+%.%d+", function(seconds) return tonumber(seconds) > 0 and "SECONDS" or seconds end)
  return (line:gsub("token (%d+)", function(token)
    tokens[#tokens + 1] = tonumber(token)
    return "token N"
  end))
end

--- The tokens of the page and those that were seen are in the same order.
local function are_alike(shown, seen)
  assert.equal(#shown, #seen)
  for i = 1, #shown do
    for j = 1, i do
      local message = ("tokens %d, %d are shown, %d, %d were seen"):format(shown[j], shown[i], seen[j], seen[i])
      assert.equal(shown[j] < shown[i], seen[j] < seen[i], message)
      assert.equal(shown[j] == shown[i], seen[j] == seen[i], message)
    end
  end
end

-- ---- a terminal --------------------------------------------------------------------------------------------------

local terminal = {}
terminal.__index = terminal

--- The prompt is there: what ran has ended, and all that it wrote was read.
function terminal:is_at_its_prompt(line)
  if not self.child then return end
  assert.same({ 0, "" }, { self.child:wait(PATIENCE), self.child:stdout() .. self.child:stderr() }, line)
  self.child = nil
end

function terminal:run(command)
  if command == "fg" then return self.child:continue() end
  self:is_at_its_prompt(command)
  local name, argument = command:match("^lua5%.4 (%l+%.lua) ?(%l*)$")
  assert(name, PAGE .. " shows a command that this spec does not know: " .. command)
  self.child = script.spawn(AT_A_TERMINAL, { self.folder .. "/" .. name, argument ~= "" and argument or nil })
end

--- One line of a block: what the reader types, or what the process writes.
function terminal:line(line, shown, seen)
  local command = line:match("^%$ (.*)$")
  if command then
    self:run(command)
  elseif line == "" then -- Enter
    self.child:write("")
  elseif line == "^Z" then
    self.child:stop()
  elseif line == "^\\Quit" then
    self.child:signal("QUIT")
    assert.same({ 0, 3 }, { self.child:wait(PATIENCE) }) -- SIGQUIT has ended it
    self.child = nil
  else
    local got = self.child:read_line(PATIENCE)
    assert(got, ("instead of '%s': %s"):format(line, self.child:stderr()))
    assert.equal(shape(line, shown), shape(got, seen))
  end
end

-- ---- the reader --------------------------------------------------------------------------------------------------

describe("the tutorial #once", function()
  local page = markdown.read(PAGE)
  local here, server_port, server

  setup(function()
    here = folder.new("tutorial")
    server_port = port.free()
  end)

  teardown(function()
    if server then server:kill() end
  end)

  --- The page's server is at another port here.
  local function with_port(text)
    local changed, count = text:gsub("%f[%d]" .. PORT .. "%f[%D]", ("%d"):format(server_port))
    return changed, count
  end

  local function start_server(text)
    local command, count = with_port(text)
    assert.equal(1, count, "one port")
    command, count = command:gsub("\njava ", "\nexec java ") -- so that it ends with its shell
    assert.equal(1, count, "one server")
    command, count = command:gsub("%-cp %S+", function() return "-cp '" .. classpath .. "'" end)
    assert.equal(1, count, "one class path")
    server = process.spawn { "sh", "-c", command, cwd = here, env = process.PLAIN, output = here .. "/server.log" }
    wait.eventually(function()
      assert(server:is_running(), file.read(here .. "/server.log"))
      local link = socket.tcp()
      link:settimeout(2)
      local answer = link:connect("127.0.0.1", server_port) and link:send("srvr") and link:receive("*a")
      link:close()
      return answer and answer:find("Mode: standalone", 1, true)
    end, PATIENCE, "a server")
  end

  local function save(block)
    local name = assert(block.lead:match("`(%l+%.lua)`"), ("line %d: no name for the script"):format(block.line))
    local text, count = with_port(block.text)
    assert.equal(1, count, name .. " connects once")
    file.write(here .. "/" .. name, text)
  end

  it("shows the README's command to install, and a package of the server that the tests use", function()
    local install, packages = page.blocks[1], page.blocks[2].text
    assert.equal(markdown.read("README.md"):below("Install")[1].text, install.text)
    local deps = file.read("tools/deps.sh")
    for name in assert(packages:match("^apt%-get install ([^\n]*)\n$")):gmatch("%S+") do
      assert.is_truthy(deps:find(name, 1, true), name)
    end
  end)

  it("can be done from its top to its end, and shows what the reader sees", function()
    local terminals, shown, seen = {}, {}, {}
    for i = 3, #page.blocks do
      local block = page.blocks[i]
      if block.language == "sh" then
        start_server(block.text)
      elseif block.language == "lua" then
        save(block)
      else
        assert.equal("console", block.language)
        local number = assert(block.lead:match(".*terminal (%d)"), "no terminal for the block at line " .. block.line)
        terminals[number] = terminals[number] or setmetatable({ folder = here }, terminal)
        for line in block.text:gmatch("([^\n]*)\n") do terminals[number]:line(line, shown, seen) end
      end
    end
    for number, one in pairs(terminals) do one:is_at_its_prompt("terminal " .. number) end
    are_alike(shown, seen)
    assert.is_true(#shown > 5)
  end)
end)
