-- SPDX-License-Identifier: MIT
-- Each source file names its licence, for people and programs that meet it without the rest of the tree: a comment
-- `SPDX-License-Identifier: MIT` in its first two lines. Line 2 is for files whose line 1 has a meaning (`#!`).
-- usage: lua5.4 tools/licence.lua [--write]     in the root of the tree; with --write it adds the missing lines

local LICENCE = "SPDX-License-Identifier: MIT"

--- How a comment is written, by the end of a file's name.
local HASH, DASHES, STAR, SLASHES, ROFF = "# %s", "-- %s", "/* %s */", "// %s", '.\\" %s'
local COMMENTS = {
  [".c"] = STAR, [".h"] = STAR, [".pml"] = STAR, [".lua"] = DASHES, [".rockspec"] = DASHES, [".luacheckrc"] = DASHES,
  [".go"] = SLASHES, [".java"] = SLASHES, [".js"] = SLASHES, [".cfg"] = HASH, [".conf"] = HASH, [".mk"] = HASH,
  [".py"] = HASH, [".sh"] = HASH, [".bash"] = HASH, [".fish"] = HASH, [".service"] = HASH, [".timer"] = HASH,
  [".yml"] = HASH,
  [".vim"] = '" %s', [".in"] = HASH, [".map"] = "/* %s */", [".1"] = ROFF, [".3"] = ROFF, [".sql"] = DASHES,
  [".abi"] = HASH, [".html"] = "<!-- %s -->", ["Makefile"] = HASH, [".ci/run"] = HASH, ["share/_zklock"] = HASH,
  ["debian/control"] = HASH, ["debian/rules"] = HASH, [".install"] = HASH, ["Dockerfile"] = HASH,
}
-- Pages, pictures, data, and what programs of others read.
local EXEMPT = { ".md", ".svg", ".png", ".txt", ".json", ".patch", ".supp", ".known", ".leaks", "LICENSE",
  ".clang-format", ".clang-tidy", ".editorconfig", ".gitattributes", ".gitignore", ".dockerignore",
  "share/luals/zklock/library", "debian/changelog", "debian/copyright", "debian/source/format", ".docs", ".examples" }

local function ends(path, list)
  for _, last in ipairs(list) do
    if path:sub(-#last) == last then return true end
  end
end

--- The comment of a file, false when it needs none, nil when its kind is unknown.
local function comment(path)
  if path:find "^fuzz/corpus/" or ends(path, EXEMPT) then return false end
  for last, form in pairs(COMMENTS) do
    if path:sub(-#last) == last then return form:format(LICENCE) end
  end
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

--- The files that git follows or would add; nil without a repository.
local function files()
  local pipe = assert(io.popen "git ls-files -z --cached --others --exclude-standard 2>/dev/null")
  local text = pipe:read("a")
  return pipe:close() and text:gmatch "[^\0]+" or nil
end

local function write(path, text, line)
  local first = text:match "^#[!c][^\n]*\n" or "" -- #!, and #compdef of zsh
  local file <close> = assert(io.open(path, "wb"))
  file:write(first, line, "\n", text:sub(#first + 1))
end

local paths = files()
if not paths then
  print "skipped: git finds no repository here"
  os.exit(true)
end
local wrong = {}
for path in paths do
  local line = comment(path)
  local there = io.open(path)
  if there then there:close() end
  if not there then -- deleted, and not committed yet
    line = false
  elseif line == nil then
    wrong[#wrong + 1] = path .. ": a new kind of file: tools/licence.lua must know how its comments are written"
  end
  local text = line and read(path)
  if text and text:match "^[^\n]*\n" ~= line .. "\n" and text:match "^[^\n]*\n([^\n]*\n)" ~= line .. "\n" then
    if arg[1] == "--write" then
      write(path, text, line)
    else
      wrong[#wrong + 1] = ("%s: the first line must be `%s`: run lua5.4 tools/licence.lua --write"):format(path, line)
    end
  end
end
table.sort(wrong)
for _, one in ipairs(wrong) do print(one) end
os.exit(#wrong == 0)
