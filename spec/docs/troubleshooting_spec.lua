-- SPDX-License-Identifier: MIT
--- docs/troubleshooting.md has a section for each error of the engine and for each warning. #once

local lfs = require "lfs"
local read = require("spec.support.file").read

local PAGE = "docs/troubleshooting.md"

--- The headings of a page's sections, without the backquotes.
local function headings_of(text)
  local found = {}
  for title in ("\n" .. text):gmatch("\n### ([^\n]*)") do found[#found + 1] = (title:gsub("`", "")) end
  return found
end

--- The texts of the errors that csrc/base/status.c lists, but "ok".
local function errors_of(text)
  local found = {}
  for name, code in text:gmatch('%[(ZKL_[%u_]+)%] = "([^"]+)"') do
    if name ~= "ZKL_OK" then found[#found + 1] = code end
  end
  return found
end

--- The literal beginnings of the warnings and errors that a C file logs: what stands in front of the first placeholder.
--- A format that is only "%s" counts with the literal behind it. The log and the subject stand in front of the format.
local function warnings_of(text)
  local found = {}
  for call in text:gsub("zkl_log_error", "zkl_log_warn"):gmatch("zkl_log_warn%)?(%b());") do
    local literal = call:gsub("^[^,]*,[^,]*,", ""):gsub('^([^"]*)"%%s",', "%1"):match('"([^"]*)') or ""
    local beginning = literal:match("^[^%%]*"):gsub("%s+$", "")
    if beginning ~= "" then found[#found + 1] = beginning end
  end
  return found
end

--- The same for the lines that a Lua file writes into nginx's error log.
local function lines_of(text)
  local found = {}
  for line in text:gmatch('ngx%.log%(ngx%.%u+, "(zklock: [^"]+)"') do found[#found + 1] = line:match("^(.-):?%s*$") end
  return found
end

local function files_below(folder, ending, found)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if name:sub(-#ending) == ending then
      found[#found + 1] = path
    elseif not name:find("^%.") and lfs.attributes(path, "mode") == "directory" then
      files_below(path, ending, found)
    end
  end
  return found
end

local function all_of(folder, ending, search)
  local found = {}
  for _, path in ipairs(files_below(folder, ending, {})) do
    for _, text in ipairs(search(read(path))) do found[#found + 1] = text end
  end
  return found
end

--- The texts that begin no heading. A heading may stop short of the whole text.
local function without_section(texts, headings)
  local missing = {}
  for _, text in ipairs(texts) do
    local has_section = false
    for _, heading in ipairs(headings) do
      local common = math.min(#heading, #text)
      has_section = has_section or common >= 10 and heading:sub(1, common) == text:sub(1, common)
    end
    if not has_section then missing[#missing + 1] = text end
  end
  return missing
end

describe(PAGE .. " #once", function()
  local headings = headings_of(read(PAGE))

  local function missing_errors(texts)
    local has, missing = {}, {}
    for _, heading in ipairs(headings) do has[heading] = true end
    for _, text in ipairs(texts) do
      if not has[text] then missing[#missing + 1] = text end
    end
    return missing
  end

  it("has a section for each error of csrc/base/status.c", function()
    local errors = errors_of(read("csrc/base/status.c"))
    assert.is_true(#errors > 20)
    assert.same({}, missing_errors(errors))
  end)

  it("has a section for each error of the table in docs/api-clients.md", function()
    local rows, errors = read("docs/api-clients.md"):match("\n### Errors\n(.-)\n#"), {}
    for cell in rows:gmatch("\n| (`[^|]*`) |") do
      for text in cell:gmatch("`([^`]+)`") do errors[#errors + 1] = text end
    end
    assert.is_true(#errors > 20)
    assert.same({}, missing_errors(errors))
  end)

  it("has a section for each warning that the client logs", function()
    local warnings = all_of("csrc", ".c", warnings_of)
    assert.is_true(#warnings >= 9, table.concat(warnings, "\n"))
    assert.same({}, without_section(warnings, headings))
  end)

  it("has a section for each line that the client writes into nginx's error log", function()
    local lines = all_of("lua/zklock/openresty", ".lua", lines_of)
    assert.is_true(#lines >= 4, table.concat(lines, "\n"))
    assert.same({}, without_section(lines, headings))
  end)

  it("has a cause and a remedy in each section", function()
    local incomplete = {}
    for title, body in (read(PAGE) .. "\n#"):gsub("\n(#+ )", "\n\1%1"):gmatch("\1### ([^\n]*)\n([^\1]*)") do
      if not body:find("**Cause", 1, true) or not body:lower():find("remedy.**", 1, true) then
        incomplete[#incomplete + 1] = title
      end
    end
    assert.same({}, incomplete)
  end)

  it("is compared with texts of every form", function()
    assert.same({ "too big" }, errors_of('[ZKL_OK] = "ok", [ZKL_TOO_BIG] = "too big",'))
    assert.same({ "gone after", "any text" },
      warnings_of(
        'zkl_log_error(log, "", "gone after %g s", 1);\nzkl_log_warn(log, NULL, "%s",\n "any text "\n "more");'))
    assert.same({ "zklock: no timer" }, lines_of('ngx.log(ngx.WARN, "zklock: no timer: ", err)'))
    assert.same({ "it went away" }, without_section({ "it went away" }, { "another line of text", "it" }))
    assert.same({}, without_section({ "it went away: today" }, { "it went away" }))
  end)
end)
