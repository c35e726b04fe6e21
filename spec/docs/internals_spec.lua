-- SPDX-License-Identifier: MIT
--- The pages about the code name files and functions that exist. #once

local lfs = require "lfs"
local read = require("spec.support.file").read

local PAGES = { "ARCHITECTURE.md", "docs/internals/adapters.md", "docs/internals/batching.md",
  "docs/internals/invariants.md", "docs/internals/libzookeeper.md", "docs/internals/malicious.md",
  "docs/internals/performance.md", "docs/internals/run.md", "docs/internals/tests.md",
  "docs/internals/tracing.md", "docs/internals/validity.md", "docs/internals/walks.md" }

--- The files below a folder whose names end in `ending`, with their texts.
local function sources(folder, ending, found)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    local mode = not name:find "^%." and lfs.attributes(path, "mode")
    if mode == "directory" then sources(path, ending, found) end
    if mode == "file" and name:find(ending) then found[path] = read(path) end
  end
  return found
end

--- The C functions that a text defines. A definition begins in the first column.
local function defined(text, found)
  for head, name, after in ("\n" .. text:gsub("/%*.-%*/", " ")):gmatch("\n([%a_][%w_ %*]-)([%a_][%w_]*)%b()([^\n]*)") do
    if head:find "%S" and after:find "{" then found[name] = true end
  end
  return found
end

--- The engine: its functions, and all its names outside of comments.
local function engine()
  local functions, names = {}, {}
  for _, text in pairs(sources("csrc", "%.[ch]$", {})) do
    defined(text, functions)
    for name in text:gsub("/%*.-%*/", " "):gmatch("[Zz][Kk][Ll]_[%w_]+") do names[name] = true end
  end
  return functions, names
end

local functions, names = engine()

--- Whether a Lua or a C source defines a function, such as `Hold:join` or `queue_up`.
local function is_defined(path, name)
  local text = read(path)
  if path:find "%.lua$" then
    local pattern = "function " .. name:gsub("[.:]", "[.:]") .. "%("
    return text:find(pattern) ~= nil
  end
  return defined(text, {})[name] or false
end

--- The faults of a text: what it names that does not exist.
local function faults(text)
  local found = {}
  for name in text:gmatch("%f[%w_](zkl_[%w_]+)%f[^%w_]") do
    if not functions[name] and not names[name] then found[#found + 1] = name .. " is not in csrc" end
  end
  for name, path in text:gmatch("`([%a_][%w_.:]*)`%s+in%s+`([%w_./]+%.%a+)`") do
    local is_there = lfs.attributes(path) ~= nil
    if not is_there or not is_defined(path, name) then
      found[#found + 1] = ("%s does not define %s"):format(path, name)
    end
  end
  for path in text:gmatch("`([%w_-]+/[%w_./-]*)`") do
    local is_room = lfs.attributes("csrc/" .. path .. ".c") or lfs.attributes("csrc/" .. path .. ".h")
    if not lfs.attributes(path) and not is_room then found[#found + 1] = path .. " does not exist" end
  end
  return found
end

--- The functions of a walk that stand alone although no file that the walk has named before defines them.
local function homeless(walk)
  local found, named = {}, {}
  for name, rest in walk:gmatch("`([%a_][%w_.:]*)`()") do
    local path = walk:match("^%s+in%s+`([%w_./]+%.%a+)`", rest)
    local is_function, is_named = functions[name] or name:find "^%u%a+:", false
    for _, file in ipairs(named) do is_named = is_named or is_defined(file, name) end
    if path then
      named[#named + 1] = path
    elseif is_function and not is_named then
      found[#found + 1] = name
    end
  end
  return found
end

--- The folders in a folder.
local function folders(root)
  local found = {}
  for name in lfs.dir(root) do
    local path = root .. "/" .. name
    if not name:find "^%." and lfs.attributes(path, "mode") == "directory" then found[#found + 1] = path end
  end
  return found
end

describe("a page about the code #once", function()
  for _, page in ipairs(PAGES) do
    it("names files and functions that exist: " .. page, function() assert.same({}, faults(read(page))) end)
  end

  it("follows functions through their files: docs/internals/walks.md", function()
    local _, count = read("docs/internals/walks.md"):gsub("`%s+in%s+`", "")
    assert.is_true(count > 60, "walks.md names only " .. count .. " functions with their files")
  end)

  it("names the file of each function of a walk: docs/internals/walks.md", function()
    local page = read "docs/internals/walks.md"
    local intro, walks = page:match "^(.-)(\n## An acquire.*)\n## The rooms"
    for walk in (walks:gsub("\n## ", "\0") .. "\0"):gmatch("([^%z]+)%z") do
      assert.same({}, homeless(intro .. walk), walk:match "^[^\n]*")
    end
    assert.same({ "zkl_join" }, homeless("`zkl_join`, `zkl_line_join` in `csrc/line/line.c`, `zkl_line_release`"))
  end)

  it("has each folder of the code: ARCHITECTURE.md", function()
    local page, missing = read "ARCHITECTURE.md", {}
    for _, root in ipairs { "csrc", "lua/zklock" } do
      for _, folder in ipairs(folders(root)) do
        if not page:find("`" .. folder .. "`", 1, true) then missing[#missing + 1] = folder end
      end
    end
    assert.same({}, missing)
  end)

  it("has each room in the graph: docs/internals/walks.md", function()
    local page, missing = read "docs/internals/walks.md", {}
    local graph = (" " .. page:match("flowchart TD(.-)```") .. " "):gsub("[^%w_]+", "  ")
    for _, folder in ipairs { "line", "shared", "compound" } do
      for name in lfs.dir("csrc/" .. folder) do
        local room = name:match("^(.*)%.c$")
        if room and not graph:find(" " .. room .. " ", 1, true) then missing[#missing + 1] = room end
      end
    end
    assert.same({}, missing)
  end)

  it("fails on names that do not exist", function()
    assert.same({}, faults("`zkl_join` in `csrc/client/contenders.c`, `Hold:join` in\n`lua/zklock/holds/hold.lua`"))
    assert.same({ "zkl_gone is not in csrc" }, faults("`zkl_gone`"))
    assert.same({ "csrc/line/send.c does not define zkl_join" }, faults("`zkl_join` in\n  `csrc/line/send.c`"))
    assert.same({ "lua/zklock/holds/hold.lua does not define Hold:gone" },
      faults("`Hold:gone` in `lua/zklock/holds/hold.lua`"))
    assert.same({ "csrc/line/gone.c does not define f", "csrc/line/gone.c does not exist" },
      faults("`f` in `csrc/line/gone.c`"))
    assert.same({ "line/gone does not exist" }, faults("`line/gone` and `line/send`"))
  end)
end)
