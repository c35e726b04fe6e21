-- SPDX-License-Identifier: MIT
--- One interface in three places: what the code knows, what the pages say that docs/api.md lists, what the annotations
--- say. An error or an option that was forgotten in one of them is named here, with the place.

local file = require "spec.support.file"
local markdown = require "spec.support.markdown"
local process = require "spec.support.process"

local options = require "zklock.options"
local zklock = require "zklock"

local INDEX = "docs/api.md"
local PAGES = { "docs/api-clients.md", "docs/api-locks.md", "docs/api-jobs-nodes.md", "docs/internals/adapters.md" }
local API = table.concat(PAGES, ", ") .. " or docs/monitoring.md"

local texts = {}
for i, page in ipairs(PAGES) do texts[i] = file.read(page) end
local api = table.concat(texts, "\n") .. "\n" .. file.read("docs/monitoring.md")

--- The files below a folder whose name ends so.
local function files(folder, ending)
  local find = process.spawn { "find", folder, "-path", "*" .. ending, env = process.PLAIN }
  assert.equal(0, (find:wait()))
  local names = {}
  for name in find:stdout():gmatch("[^\n]+") do names[#names + 1] = name end
  table.sort(names)
  assert.is_true(#names > 0, "no " .. ending .. " in " .. folder)
  return names
end

--- The table of the interface whose header begins so: its rows, as lists of cells.
---@param least integer? how many it has
local function rows_of(header, least)
  local at = assert(api:find("\n| " .. header, 1, true), API .. " has no table with " .. header)
  local rows = {}
  for line in api:sub(at + 1):gmatch("([^\n]*)\n") do
    if line:sub(1, 1) ~= "|" then break end
    local cells = {}
    for cell in line:gmatch("|%s*([^|]-)%s*%f[|]") do cells[#cells + 1] = cell end
    rows[#rows + 1] = cells
  end
  table.remove(rows, 1)
  table.remove(rows, 1)
  assert.is_true(#rows >= (least or 4), header)
  return rows
end

--- Each of `these` is among `those`.
local function are_among(these, those, sentence)
  local missing = {}
  for name in pairs(these) do
    if not those[name] then missing[#missing + 1] = "'" .. name .. "'" end
  end
  table.sort(missing)
  assert.is_true(#missing == 0, table.concat(missing, ", ") .. " " .. sentence)
end

-- ---- errors ---------------------------------------------------------------------------------------------------------

describe("an error #once", function()
  -- Those that are raised, or mean that nothing is wrong.
  local NO_RESULTS = { ok = true, ["not enough memory"] = true, ["bad argument"] = true }

  --- The errors in a file's annotations.
  local function annotated_in(name, list)
    local err = false
    for line in file.read(name):gmatch("[^\n]+") do
      err = line:find("^%-%-%-@return string%? err") or err and line:find("^%-%-%-  ")
      if err then
        for text in line:gmatch('"([^"]+)"') do list[text] = name end
      end
    end
    return list
  end

  local told, of_engine, of_others, annotated = {}, {}, {}, {}

  setup(function()
    for _, row in ipairs(rows_of "err |") do
      for text in row[1]:gmatch("`([^`]+)`") do told[text] = true end
    end
    -- The table of texts, without the servers' own answers, which are "zookeeper: NAME".
    for _, name in ipairs(files("csrc", "/status.c")) do
      for line in file.read(name):gmatch("[^\n]+") do
        local text = line:match('%] = "([^"]+)"')
        if text and not text:find("^zookeeper: ") and not NO_RESULTS[text] then
          of_engine[text], of_others[text] = true, true
        end
      end
    end
    for _, ending in ipairs { ".c", ".lua" } do
      for _, name in ipairs(files(ending == ".c" and "csrc" or "lua", ending)) do
        for line in file.read(name):gmatch("[^\n]+") do
          if not line:find("^%s*%-%-") then
            for text in line:gmatch('"([^"]+)"') do of_others[text] = true end
          end
        end
      end
    end
    of_others["cannot wait in phase NAME"] = of_others["cannot wait in phase "]
    of_others["zookeeper: NAME"] = of_others["zookeeper: UNKNOWN"]
    for _, name in ipairs(files("lua/zklock", ".lua")) do annotated_in(name, annotated) end
  end)

  it("of the engine is in the table of errors", function()
    are_among(of_engine, told, "is a text of status.c and not in the table of errors in " .. PAGES[1])
  end)

  it("of the engine is in an annotation", function()
    are_among(of_engine, annotated, "is a text of status.c and in no `---@return string? err` below lua/")
  end)

  it("in the table of errors is one that somebody returns", function()
    are_among(told, of_others, "is in the table of errors in " .. API .. " and no text of csrc or lua")
  end)

  it("in the table of errors is in an annotation", function()
    are_among(told, annotated,
      "is in the table of errors in " .. API .. " and in no `---@return string? err` below lua/")
  end)

  it("in an annotation is in the table of errors", function()
    are_among(annotated, told, "is in a `---@return string? err` below lua/ and not in the table of errors in " .. API)
  end)

  it("of resty.zklock is on the page about lua-resty-lock", function()
    local page, there = "docs/coming-from.md", {}
    for text in file.read(page):gmatch('"([^"\n]+)"') do there[text] = true end
    are_among(annotated_in("lua/resty/zklock.lua", {}), there, "is annotated and not in " .. page)
  end)
end)

-- ---- options --------------------------------------------------------------------------------------------------------

describe("an option #once", function()
  local KINDS = { "mutex", "rwlock", "multilock", "semaphore" }
  local CALLS = { "job", "once" }

  --- The fields of a class in the annotations, with those that it inherits.
  local function fields_of(class)
    local found, inside = nil, false
    for line in io.lines("lua/zklock/options.lua") do
      local name, above = line:match("^%-%-%-@class ([%w.]+):? ?([%w.]*)$")
      if name == class then found = above ~= "" and fields_of(above) or {} end
      if name or line == "" then inside = name == class end
      local field = inside and line:match("^%-%-%-@field ([%w_]+)")
      if field then found[field] = true end
    end
    return assert(found, "lua/zklock/options.lua has no class " .. class)
  end

  --- The class that the annotation of a function names for its options.
  local function class_of(where, name)
    local text = file.read(where)
    local at = assert(text:find("\nfunction " .. name .. "(", 1, true), where .. " has no " .. name)
    local class = text:sub(1, at):match(".*%-%-%-@param options ([%w.]+)%?\n")
    return assert(class, where .. ": no class for the options of " .. name)
  end

  local function is_the_same_everywhere(known, told, annotated, whose)
    are_among(known, told, "is an option of " .. whose .. " and not in " .. API)
    are_among(told, known, "is an option of " .. whose .. " in " .. API .. " and not in options.known")
    are_among(known, annotated, "is an option of " .. whose .. " and not in its class in lua/zklock/options.lua")
    are_among(annotated, known, "is in the class of the options of " .. whose .. " and not in options.known")
  end

  it("of connect is in options.known, in the reference and in the annotations", function()
    local told = {}
    for _, row in ipairs(rows_of "option | default") do told[row[1]:match("^`([^`]+)`$")] = true end
    is_the_same_everywhere(options.known.connect, told, fields_of(class_of("lua/zklock/init.lua", "zklock.connect")),
      "zklock.connect")
  end)

  for _, kind in ipairs(KINDS) do
    it("of a " .. kind .. " is in options.known, in the reference and in the annotations", function()
      local told = {}
      for _, row in ipairs(rows_of "option | of") do
        for of in row[2]:gmatch("%w+") do
          if of == kind then told[row[1]:match("^`([^`]+)`$")] = true end
        end
      end
      is_the_same_everywhere(options.known[kind], told, fields_of(class_of("lua/zklock/client.lua", "Client:" .. kind)),
        "client:" .. kind)
    end)
  end

  for _, call in ipairs(CALLS) do
    it("of client:" .. call .. " is in options.known, in the reference and in the annotations", function()
      local told = {}
      for _, row in ipairs(rows_of("option of `" .. call .. "`", 2)) do told[row[1]:match("^`([^`]+)`$")] = true end
      is_the_same_everywhere(options.known[call], told, fields_of(class_of("lua/zklock/client.lua", "Client:" .. call)),
        "client:" .. call)
    end)
  end

  it("is asked for of each kind that there is", function()
    local known = { connect = true }
    for _, call in ipairs(CALLS) do known[call] = true end
    for _, kind in ipairs(KINDS) do known[kind] = true end
    are_among(options.known, known, "is in options.known and not tried here")
  end)
end)

-- ---- what there is to call ------------------------------------------------------------------------------------------

describe("a public function #once", function()
  --- Each public table: how a page writes it, the file that defines it, and its name in there.
  local PUBLIC = {
    { "zklock", "lua/zklock/init.lua", "zklock" }, { "client", "lua/zklock/client.lua", "Client" },
    { "lock", "lua/zklock/lock.lua", "Lock" }, { "rwlock", "lua/zklock/rwlock.lua", "RwLock" },
    { "guard", "lua/zklock/guard.lua", "Guard" }, { "request", "lua/zklock/request.lua", "Request" },
    { "semaphore", "lua/zklock/semaphore.lua", "Semaphore" }, { "lease", "lua/zklock/lease.lua", "Lease" },
    { "watch", "lua/zklock/nodes/watch.lua", "Watch" }, { "hold", "lua/zklock/held.lua", "Held" },
    { "job", "lua/zklock/job.lua", "Job" },
    { "metrics", "lua/zklock/metrics/init.lua", "metrics" },
  }
  local classes, headings = {}, {}

  --- The functions of a file that an annotation calls private.
  local function private_of(where, class)
    local found, is_private = {}, false
    for line in io.lines(where) do
      local name = line:match("^function " .. class .. "[.:]([%w_]+)")
      if name and is_private then found[name] = true end
      if not line:find("^%-%-%-") then is_private = false end
      if line == "---@private" then is_private = true end
    end
    return found
  end

  --- The functions of a public table as the pages write them: "lock:acquire", "zklock.connect".
  local function functions_of(name, where, class)
    local found, private = {}, private_of(where, class)
    for key, value in pairs(classes[name]) do
      local is_public = type(value) == "function" and not key:find("^__") and key ~= "new" and not private[key]
      if is_public then found[name .. ((name == "zklock" or name == "metrics") and "." or ":") .. key] = true end
    end
    return found
  end

  --- The text below each heading that names a function.
  local function sections()
    local found, name = {}, nil
    for line in (api .. "\n"):gmatch("([^\n]*)\n") do
      if line:find("^##") then
        name = line:match("^### `([%w_]+[.:][%w_]+)`$")
        if name then found[name] = "" end
      elseif name then
        found[name] = found[name] .. line .. "\n"
      end
    end
    return found
  end

  setup(function()
    local client = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 }))
    classes = { zklock = zklock, lease = require "zklock.lease", watch = require "zklock.nodes.watch",
      hold = require "zklock.held", job = require "zklock.job", metrics = require "zklock.metrics",
      guard = getmetatable(require("zklock.guard").new()) }
    for name, object in pairs { client = client, lock = client:mutex("/interface"),
      rwlock = client:rwlock("/interface/rwlock"), semaphore = client:semaphore("/interface/semaphore", 1),
      request = client:mutex("/interface"):request(0, function() end) } do
      classes[name] = getmetatable(object)
    end
    client:close()
    headings = sections()
  end)

  it("has a heading", function()
    for _, one in ipairs(PUBLIC) do
      are_among(functions_of(one[1], one[2], one[3]), headings, "is public and has no heading in " .. API)
    end
  end)

  it("is behind each heading that names one", function()
    local all = {}
    for _, one in ipairs(PUBLIC) do
      for name in pairs(functions_of(one[1], one[2], one[3])) do all[name] = true end
    end
    are_among(headings, all, "has a heading in " .. API .. " and is no public function")
  end)

  it("has its signature in the first line below its heading", function()
    for name, body in pairs(headings) do
      local first = body:match("^\n([^\n]*)")
      assert.equal("`" .. name .. "(", first:sub(1, #name + 2), "the first line below the heading " .. name)
    end
  end)

  it("returns errors that are in the table of errors", function()
    local known = {}
    for _, row in ipairs(rows_of "err |") do
      for text in row[1]:gmatch("`([^`]+)`") do known[text] = true end
    end
    for name, body in pairs(headings) do
      local listed = {}
      local line = (body .. "\n\n"):match("\nErrors[^:\n]*:(.-)\n\n") or ""
      for text in line:gmatch("`([^`]+)`") do listed[text:gsub("%s+", " ")] = true end
      are_among(listed, known, "is an error of " .. name .. " and not in the table of errors in " .. API)
    end
  end)

  it("is named only if it is there", function()
    for name, method in api:gmatch("`(%l+):([%l_]+)%(") do
      local class = classes[name]
      if class then
        assert.is_function(class[method], ("%s:%s() is in %s and not there"):format(name, method, API))
      end
    end
  end)

  it("stats() returns the counters that the reference lists", function()
    local client = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 }))
    local counters = {}
    for line in headings["client:stats"]:gmatch("[^\n]+") do
      for name in (line:match("^| (`[^|]*)|") or ""):gmatch("`([%l_]+)`") do counters[name] = true end
    end
    are_among(client:stats(), counters, "is in client:stats() and not in " .. API)
    are_among(counters, client:stats(), "is a counter in " .. API .. " and not in client:stats()")
    client:close()
  end)
end)

describe("the index of the interface #once", function()
  local index = file.read(INDEX)

  it("leads to each function and each section", function()
    local linked, there = {}, {}
    for target in index:gmatch("%]%(([%w/-]+%.md#[%w_-]+)%)") do linked["docs/" .. target] = true end
    for i, page in ipairs(PAGES) do
      for level, title in texts[i]:gmatch("\n(##+) ([^\n]*)") do
        -- api.md had no such heading
        local is_new = title == "Making a lock" or title == "Copas" or title:find "^Threads"
          or title:find "notifier, for"
        local is_listed = not is_new and (level == "##" or title:find("^`"))
        if is_listed then there[page .. "#" .. markdown.anchor(title)] = true end
      end
    end
    are_among(there, linked, "is a heading and not in " .. INDEX)
  end)

  it("has the anchors that its headings once had: each is beside the link that leads on", function()
    local count = 0
    for id, target in index:gmatch('<a id="([^"]+)"></a>%[[^%]]*%]%([%w/-]+%.md#([%w_-]+)%)') do
      count = count + 1
      assert.is_true(id == target or id == "metrics", id .. " leads to " .. target)
    end
    assert.equal(select(2, index:gsub("<a id=", "")), count)
    local _, links = index:gsub("%]%([%w/-]+%.md#", "")
    assert.equal(links - 1, count) -- the first paragraph has one without
  end)
end)
