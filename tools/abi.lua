-- SPDX-License-Identifier: MIT
--- Keeps share/zklock.abi in step with csrc/zklock.h: the functions, of each constant its value and its type, of each
--- enum and struct its size and alignment, and of each field its type and its place, on a machine of 64 bits. A program
--- in C was compiled against them.
---   * The list is that of the header. Lines that begin with "host" are those of csrc/zklock_host.h, which any version
---     may change.
---   * A function of csrc/zklock.h has the minor version that is the first with it: its symbol has that version, too
---     (tools/make/compile.mk). A function that the latest release lacks comes with the next minor version.
---   * All of the latest release is still there, and unchanged, if it has the same major version, above 0. The soname
---     has that number.
---   * A struct that begins with its `size` may grow at its end, behind all that the release had, and has DEFAULTS.
---     One that programs fill has no gap at its end, because a gap may hold anything.
---   * Each header compiles alone, as C11 and without a warning.
--- usage: lua5.4 tools/abi.lua [--write]     in the root of the tree; with --write it writes the list

package.path = "./?.lua;" .. package.path
local header = require "tools.header"

local LIST = "share/zklock.abi"
-- Constants that later versions may raise, but not lower: the numbers of others.
local GROWS = { ZKL_STATUS_END = true, ZKL_STATUS_LAST = true, ZKL_KINDS = true }
-- The library makes these, and programs only read them.
local MADE_HERE = { zkl_content = true }
-- Not part of what programs are compiled against.
local APART = { ZKL_VERSION = true }

local function fail(...)
  print(string.format(...))
  os.exit(false)
end

local function output_of(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  return text, pipe:close()
end

-- The name of a value's type; one that is not here does not compile.
local TYPES = "#define TYPE(value) _Generic((value), int: \"int\", unsigned: \"unsigned\", long: \"long\", " ..
  "unsigned long: \"unsigned long\", long long: \"long long\", unsigned long long: \"unsigned long long\", " ..
  "double: \"double\", char *: \"text\")"

--- Does its first field say its size?
local function is_sized(struct) return struct.members[1] == "size" and struct.types.size == "size_t" end

--- Do programs fill it, and the library reads it?
local function is_filled(struct, items)
  for _, item in ipairs(items) do
    local text = item.what == "function" and header.declaration(item):match("%b()") or
      item.what == "struct" and item.text:match("%b{}") or ""
    if text:find("const " .. struct.name .. "%s+%*") then return true end
  end
  return false
end

--- The rules for structs that may grow, as lines of the probe.
local function rules(items)
  local lines, defaults = {}, {}
  for _, item in ipairs(items) do
    if item.what == "defaults" then defaults[item.name] = true end
  end
  for _, item in ipairs(items) do
    local name = item.name
    if item.what == "struct" and is_sized(item) then
      local macro = name:upper() .. "_DEFAULTS"
      if defaults[macro] then
        lines[#lines + 1] = ("{ const %s one = %s; if (one.size != sizeof one) return 1; }"):format(name, macro)
      elseif not MADE_HERE[name] then
        fail("%s has no %s", name, macro)
      end
      if is_filled(item, items) then
        local last = item.members[#item.members]
        lines[#lines + 1] = ('_Static_assert(offsetof(%s, %s) + sizeof(((%s *)0)->%s) == sizeof(%s), ' ..
          '"a gap at the end of %s");'):format(name, last, name, last, name, name)
      end
    end
  end
  return lines
end

--- The lines of the list that only a compiler knows, as a program that prints them.
local function probe(file, items)
  local lines = { ('#include "%s"'):format(file), "#include <stdio.h>", TYPES, "int main(void) {" }
  local function add(...) lines[#lines + 1] = string.format(...) end
  for _, item in ipairs(items) do
    local name = item.name
    if item.what == "constant" and not APART[name] then
      local is_text = item.text:find('"')
      add('printf("constant %s %s %%s\\n", %s%s, TYPE(%s));', name, is_text and '\\"%s\\"' or "%lld",
        is_text and "" or "(long long)", name, name)
    elseif item.what == "enum" then
      for _, member in ipairs(item.members) do
        add('printf("constant %s %%lld %s\\n", (long long)%s);', member, name, member)
      end
      add('printf("enum %s %%zu %%s\\n", sizeof(%s), TYPE((%s)0));', name, name, name)
    elseif item.what == "struct" then
      add('printf("struct %s %%zu %%zu\\n", sizeof(%s), _Alignof(%s));', name, name, name)
      for _, field in ipairs(item.members) do
        add('printf("field %s.%s %%zu %%zu %s\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));', name, field,
          item.types[field], name, field, name, field)
      end
    end
  end
  for _, line in ipairs(rules(items)) do add("%s", line) end
  add("return 0;")
  add("}")
  return table.concat(lines, "\n") .. "\n"
end

local function run_probe(name, items)
  local program = os.tmpname()
  local file <close> = assert(io.open(program .. ".c", "w"))
  file:write(probe(name, items))
  file:flush()
  local text, ok = output_of(("%s -std=c11 -Wall -Wextra -Wpedantic -Werror -Icsrc -o %s %s.c 2>&1 && %s")
    :format(os.getenv("CC") or "cc", program, program, program))
  os.remove(program)
  os.remove(program .. ".c")
  if not ok then fail("csrc/%s does not compile alone:\n%s", name, text) end
  return text
end

--- Adds the lines of the header with that name to `lines`, each behind `mark`. `minors`: that of each function.
local function list(lines, name, mark, minors)
  local items = header.read(name)
  for _, item in ipairs(items) do
    local what = item.what
    if what == "function" and minors then what = "function " .. minors[item.name] end
    if item.what == "function" or item.what == "type" then
      lines[#lines + 1] = mark .. what .. " " .. header.declaration(item)
    end
  end
  for line in run_probe(name, items):gmatch("[^\n]+") do lines[#lines + 1] = mark .. line end
end

local function soname(text) return text:match("\nsoname (%S+)") end

--- The minor version of each function, by name: that of `known`, a list, if it has the same soname. `tag`: of the
--- release that has this list, or nil.
local function minors_of(known, tag, major, minor)
  local minors = {}
  if soname(known) == "libzklock.so." .. major then
    for first, name in known:gmatch("\nfunction (%d+%.%d+) [^(\n]*[ *](zkl_[%w_]+)%(") do minors[name] = first end
    if tag then minor = math.tointeger(tag:match("^v%d+%.(%d+)")) + 1 end
  end
  return setmetatable(minors, { __index = function() return ("%s.%d"):format(major, minor) end })
end

--- The list that the headers have now. `known`: the list of the release `tag`, or without one the list in the tree.
local function present(known, tag)
  local lines = {}
  local major, minor = header.text(header.PROMISED):match('#define ZKL_VERSION "(%d+)%.(%d+)')
  list(lines, header.PROMISED, "", minors_of(known, tag, major, minor))
  list(lines, header.HOST, "host ")
  table.sort(lines)
  return ("# SPDX-License-Identifier: MIT\n" ..
    "# What programs in C are compiled against, on machines of 64 bits. `make abi` writes this.\n" ..
    "soname libzklock.so.%s\n%s\n"):format(major, table.concat(lines, "\n"))
end

local function lines_of(text)
  local found = {}
  for line in text:gmatch("[^\n]+") do
    if not line:find("^#") then found[line] = true end
  end
  return found
end

--- Of a field's line its struct, and where in the struct it begins; of another line: nil.
local function field_of(line)
  local struct, at = line:match("^field ([%w_]+)%.[%w_]+ (%d+) ")
  return struct, tonumber(at)
end

--- The sizes of the structs, by name; `sized`: only of those that may grow.
local function sizes_of(lines, sized)
  local found = {}
  for line in pairs(lines) do
    local name, size = line:match("^struct ([%w_]+) (%d+) ")
    if name and (not sized or lines["field " .. name .. ".size 0 8 size_t"]) then found[name] = tonumber(size) end
  end
  return found
end

--- The numbers of the constants that may grow, by name and type.
local function growing(lines)
  local found = {}
  for line in pairs(lines) do
    local name, number, kind = line:match("^constant ([%w_]+) (-?%d+) (.*)$")
    if GROWS[name or ""] then found[name .. " " .. kind] = tonumber(number) end
  end
  return found
end

--- Is it a constant that has only grown since?
local function has_grown(line, grown)
  local name, number, kind = line:match("^constant ([%w_]+) (-?%d+) (.*)$")
  local new = name and grown[name .. " " .. kind]
  return new and new >= tonumber(number)
end

--- Is it the size of a struct that was allowed to grow, and only grew?
local function is_larger(line, sized, sizes)
  local name, size, rest = line:match("^struct ([%w_]+) (%d+)( .*)$")
  return name and sized[name] and (sizes[name] or 0) > tonumber(size) and rest == " 8"
end

--- The lines of `former` that a program would miss in `now`, each as a line. A host was promised nothing.
local function missing(former, now)
  local had, has, problems = lines_of(former), lines_of(now), {}
  local grown, sized, former_sizes, sizes = growing(has), sizes_of(had, true), sizes_of(had), sizes_of(has)
  for line in pairs(had) do
    local promised = not line:find "^host "
    if promised and not has[line] and not has_grown(line, grown) and not is_larger(line, sized, sizes) then
      problems[#problems + 1] = line
    end
  end
  for line in pairs(has) do
    local struct, at = field_of(line)
    local behind = sized[struct or ""] and at >= former_sizes[struct]
    if struct and not had[line] and former_sizes[struct] and not behind then
      problems[#problems + 1] = line .. " (new, and not at the end of a struct with a size)"
    end
  end
  table.sort(problems)
  return problems
end

local function released()
  local tag = output_of("git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null"):match("%S+")
  local text, ok = "", false
  if tag then text, ok = output_of(("git show '%s:%s' 2>/dev/null"):format(tag, LIST)) end
  return ok and text or nil, ok and tag or nil
end

local function read_list()
  local file <close> = assert(io.open(LIST))
  return file:read("a")
end

local former, tag = released()
local listed = read_list()
local now = present(former or listed, tag)
if former and soname(former) == soname(now) and soname(now) ~= "libzklock.so.0" then
  local problems = missing(former, now)
  if #problems > 0 then
    fail("programs that were built with %s would break: this needs a new major version. Gone or changed is:\n  %s",
      tag, table.concat(problems, "\n  "))
  end
end

if arg[1] == "--write" then
  local file <close> = assert(io.open(LIST, "w"))
  file:write(now)
  return
end
if listed ~= now then
  local problems = soname(listed) == soname(now) and missing(listed, now) or {}
  fail("%s is not what the headers have now: `make abi` writes it. %s", LIST, #problems == 0 and "Nothing is lost." or
    "If a release has had it, this needs a new major version. Gone or changed is:\n  " ..
    table.concat(problems, "\n  "))
end
