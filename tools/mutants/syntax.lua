-- SPDX-License-Identifier: MIT
-- The possible changes of a C source, by clang's own view of it: a list, each of a piece of syntax.

local json = require "dkjson"

local syntax = {}

local FLAGS = "-std=c11 -D_GNU_SOURCE -DTHREADED -Icsrc"

local OPPOSITE = {
  ["=="] = { "!=" }, ["!="] = { "==" },
  ["<"] = { "<=", ">=" }, ["<="] = { "<", ">" }, [">"] = { ">=", "<=" }, [">="] = { ">", "<" },
  ["+"] = { "-" }, ["-"] = { "+" }, ["*"] = { "/" }, ["/"] = { "*" }, ["%"] = { "/" },
  ["&"] = { "|" }, ["|"] = { "&" }, ["<<"] = { ">>" }, [">>"] = { "<<" },
  ["+="] = { "-=" }, ["-="] = { "+=" }, ["*="] = { "/=" }, ["/="] = { "*=" }, ["|="] = { "&=" }, ["&="] = { "|=" },
}

-- ---- where a piece is ----

--- The offset of a place's token, and that behind it. Of what a macro makes: those of the macro's name.
local function token(place)
  local from = place.expansionLoc or place
  if from.offset and not from.includedFrom then
    return from.offset + 1, from.offset + 1 + from.tokLen, place.expansionLoc ~= nil
  end
end

--- The piece of the source that a node was read from: first character, the one behind it. nil: it comes from a macro
--- with arguments, or from another file.
local function span(source, node)
  local range = node.range
  if not (range and range.begin and range["end"]) then
    return nil
  end
  local first, _, begins = token(range.begin)
  local last, behind, ends = token(range["end"])
  if not first or not last then
    return nil
  end
  local arguments = ends and source:match("^%s*%b()()", behind)
  if begins and ends and first == last and (arguments or not source:sub(first, behind - 1):find("^[%a_]+$")) then
    return nil
  end
  return first, arguments or behind
end

local function one_line(text)
  return (text:gsub("/%*.-%*/", ""):gsub("%s+", " "):match("^%s*(.-)%s*$"))
end

--- Without what the compiler has put around it.
local function bare(node)
  while node.kind == "ImplicitCastExpr" or node.kind == "ParenExpr" or node.kind == "ConstantExpr" do
    node = node.inner[1]
  end
  return node
end

-- ---- whole classes that no test can notice ----

-- More is allocated than is used.
local ALLOCATES = { malloc = true, calloc = true, realloc = true, reallocarray = true }
-- Its answer is a length or an error, and no text here is empty.
local MEASURES = { asprintf = true }
-- Says who gets an answer, and as which one: where there is only one, nobody reads the number.
local RETURN = "zkl_return"

local function called(node)
  node = bare(node)
  local callee = node.kind == "CallExpr" and bare(node.inner[1])
  return callee and callee.referencedDecl and callee.referencedDecl.name
end

--- Marks what no test can notice in a node, by kinds.
local function mark_classes(node)
  local inner = node.inner or {}
  local function each_number(part, kind)
    if part.kind == "IntegerLiteral" then
      part.skipped = { [kind] = true }
    end
    for _, child in ipairs(part.inner or {}) do
      each_number(child, kind)
    end
  end
  if node.kind == "CallExpr" and ALLOCATES[called(node)] then
    for i = 2, #inner do
      each_number(inner[i], "number + 1")
    end
  elseif node.kind == "BinaryOperator" and node.opcode == "<" and MEASURES[called(inner[1])] then
    node.skipped = { ["< to <="] = true }
    each_number(inner[2], "number + 1")
  elseif node.kind == "InitListExpr" and node.type.qualType == RETURN then
    for _, child in ipairs(inner) do
      if bare(child).value == "0" then
        each_number(child, "number + 1")
      end
    end
  end
end

-- ---- looks that save work ----

local RARER = { ["condition false"] = true, ["|| to &&"] = true, ["left of ||"] = true, ["right of ||"] = true }
local FREQUENT = { ["condition true"] = true, ["&& to ||"] = true, ["left of &&"] = true, ["right of &&"] = true }
local JUMPS = { ReturnStmt = true, ContinueStmt = true, BreakStmt = true }

local function jumps(body)
  while body.kind == "CompoundStmt" and #(body.inner or {}) == 1 do
    body = body.inner[1]
  end
  return JUMPS[body.kind] == true
end

--- Says of a condition, and of its parts, which changes let the program do more work: those that make
--- the condition rarer where it leads to a jump, and those that make it more frequent where it leads
--- to work.
local function mark_look(node, look, rarer)
  local core = bare(node)
  node.look, core.look, node.rarer, core.rarer = look, look, rarer, rarer
  if core.kind == "BinaryOperator" and (core.opcode == "&&" or core.opcode == "||") then
    mark_look(core.inner[1], look, rarer)
    mark_look(core.inner[2], look, rarer)
  elseif core.kind == "UnaryOperator" and core.opcode == "!" then
    mark_look(core.inner[1], look, not rarer)
  end
end

-- ---- the changes ----

local Search = {}
Search.__index = Search

--- `kind`: what is done to the piece, in words that do not depend on the names in it.
function Search:add(kind, node, first, behind, text)
  local works = node.look and (node.rarer and RARER or FREQUENT)[kind]
  local change = {
    file = self.file, place = self.place, everywhere = self.everywhere, first = first, behind = behind, text = text,
    kind = kind, look = works and node.look, skipped = node.skipped and node.skipped[kind],
    before = one_line(self.source:sub(first, behind - 1)), after = one_line(text),
  }
  if not self.known[first .. text] then
    self.known[first .. text] = true
    self.changes[#self.changes + 1] = change
  end
end

function Search:replace(kind, node, text)
  local first, behind = span(self.source, node)
  if first then
    self:add(kind, node, first, behind, text)
  end
end

function Search:text(node)
  local first, behind = span(self.source, node)
  return first and self.source:sub(first, behind - 1)
end

--- A condition: always, never, and the other way around.
function Search:condition(node, always)
  local core = bare(node)
  local text = self:text(node)
  if not text then
    return
  end
  self:replace("condition false", node, "false")
  if always then
    self:replace("condition true", node, "true")
  end
  local said = core.kind == "BinaryOperator" and (core.opcode == "==" or core.opcode == "!=")
  if not said and not (core.kind == "UnaryOperator" and core.opcode == "!") then
    self:replace("condition not", node, ("!(%s)"):format(text))
  end
end

function Search:operator(node)
  local left, right = node.inner[1], node.inner[2]
  local first, left_behind = span(self.source, left)
  local right_first, behind = span(self.source, right)
  if not (first and right_first) then
    return
  end
  local source = self.source
  local a, gap, b = source:sub(first, left_behind - 1), source:sub(left_behind, right_first - 1),
    source:sub(right_first, behind - 1)
  local at, till = gap:find(node.opcode, 1, true)
  if not at then
    return
  end
  if node.opcode == "&&" or node.opcode == "||" then
    local other = node.opcode == "&&" and "||" or "&&"
    self:add(node.opcode .. " to " .. other, node, first, behind, ("(%s %s %s)"):format(a, other, b))
    self:add("left of " .. node.opcode, node, first, behind, a)
    self:add("right of " .. node.opcode, node, first, behind, b)
  end
  local pointers = node.type.qualType:find("*", 1, true) and not node.opcode:find("=", 1, true)
  for _, other in ipairs(not pointers and OPPOSITE[node.opcode] or {}) do
    self:add(("%s to %s"):format(node.opcode, other), node, first, behind,
      a .. gap:sub(1, at - 1) .. other .. gap:sub(till + 1) .. b)
  end
end

function Search:number(node)
  local text = self:text(node)
  local value = text and math.tointeger(tonumber((text:gsub("[uUlL]+$", ""))))
  if text == "true" or text == "false" then
    self:replace("true or false", node, text == "true" and "false" or "true")
  elseif value then
    self:replace("number + 1", node, ("%d"):format(value + 1))
    if value > 0 then
      self:replace("number - 1", node, ("%d"):format(value - 1))
    end
  end
end

--- A named constant, or a flag: the next one of its enum.
function Search:name(node)
  local of = node.referencedDecl
  if of and of.kind == "EnumConstantDecl" and self.next_name[of.name] and self:text(node) == of.name then
    self:replace("next name", node, self.next_name[of.name])
  end
end

local DELETED = { CallExpr = "no call", CompoundAssignOperator = "no assignment", BreakStmt = "no break",
  ContinueStmt = "no continue" }

--- One that stands alone: left out.
function Search:statement(node)
  local kind = DELETED[node.kind] or node.kind == "BinaryOperator" and node.opcode == "=" and "no assignment"
    or node.kind == "UnaryOperator" and node.opcode:find("^[+-][+-]$") and "no count"
    or node.kind == "ReturnStmt" and not node.inner and "no return"
  if kind then
    self:replace(kind, node, "")
  end
end

local WALK = {}

--- Looks at a node and at its children, in the order of the source.
function Search:walk(node)
  mark_classes(node)
  local visit = WALK[node.kind]
  if visit then
    visit(self, node)
  end
  for i, child in ipairs(node.inner or {}) do
    if not (node.kind == "CaseStmt" and i == 1) then -- a label
      self:walk(child)
    end
  end
end

local function each_statement(self, node)
  for _, child in ipairs(node.inner or {}) do
    self:statement(child)
  end
end
WALK.CompoundStmt, WALK.CaseStmt, WALK.DefaultStmt = each_statement, each_statement, each_statement

function WALK:IfStmt(node)
  self.looks = self.looks + 1
  if not node.inner[3] then
    mark_look(node.inner[1], self.looks, jumps(node.inner[2]))
  end
  self:condition(node.inner[1], true)
  self:statement(node.inner[2])
  if node.inner[3] then
    self:statement(node.inner[3])
  end
end

function WALK:ConditionalOperator(node)
  self:condition(node.inner[1], true)
end

--- One that never ends is a hang, which takes long to see and tells nothing.
function WALK:WhileStmt(node)
  self:condition(node.inner[1], false)
  self:statement(node.inner[2])
end

function WALK:ForStmt(node)
  if node.inner[3] and node.inner[3].kind then
    self:condition(node.inner[3], false)
  end
  if node.inner[5] then
    self:statement(node.inner[5])
  end
end

function WALK:BinaryOperator(node)
  self:operator(node)
end
WALK.CompoundAssignOperator = WALK.BinaryOperator

function WALK:UnaryOperator(node)
  local text = self:text(node)
  if text and node.opcode == "!" then
    self:replace("no !", node, (text:gsub("^!", "")))
  elseif text and node.opcode == "++" then
    self:replace("count reversed", node, (text:gsub("%+%+", "--")))
  elseif text and node.opcode == "--" then
    self:replace("count reversed", node, (text:gsub("%-%-", "++")))
  end
end

WALK.IntegerLiteral = Search.number
WALK.DeclRefExpr = Search.name

--- The answer of a function: yes for no, and nothing for something.
function WALK:ReturnStmt(node)
  local value = node.inner and bare(node.inner[1])
  local text = value and self:text(node.inner[1])
  if not text then
    return
  end
  if self.answers:find("*", 1, true) and text ~= "NULL" then
    self:replace("answer NULL", node.inner[1], "NULL")
  elseif self.answers:find("^_?[Bb]ool") and value.kind ~= "IntegerLiteral"
    and not (value.kind == "BinaryOperator" and (value.opcode == "==" or value.opcode == "!="))
    and not (value.kind == "UnaryOperator" and value.opcode == "!") then
    self:replace("answer not", node.inner[1], ("!(%s)"):format(text))
  end
end

-- ---- a file ----

--- clang's tree of what is at the top of a file, one after the other: kind, text.
local function each_declaration(tree)
  local at = 1
  return function()
    local first = tree:find("\n    {\n", at, true)
    local last = first and tree:find("\n    }", first, true)
    if last then
      at = last
      local text = tree:sub(first + 1, last + 5)
      return text:match('"kind": "(%w+)"'), text
    end
  end
end

local function order_of(source)
  local starts = { 1 }
  for position in source:gmatch("\n()") do
    starts[#starts + 1] = position
  end
  return starts
end

local function line_at(starts, position)
  local low, high = 1, #starts
  while low < high do
    local middle = (low + high + 1) // 2
    if starts[middle] <= position then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

--- Numbers those that would be called the same: "NAME", "NAME #2", ...
local function numbered(count, name)
  count[name] = (count[name] or 0) + 1
  return count[name] == 1 and name or ("%s #%d"):format(name, count[name])
end

--- Each change is called as a person would tell it, so that its name lives through moves of lines; and has a key of
--- its function and its kind, which lives through renames as well.
local function name_all(changes, source)
  local starts, names, keys = order_of(source), {}, {}
  for _, change in ipairs(changes) do
    local where = ("%s %s: "):format(change.file:gsub("^csrc/", ""), change.place)
    change.name = numbered(names,
      ("%s%s => %s"):format(where, change.before, change.after == "" and "nothing" or change.after))
    change.key = numbered(keys, where .. change.kind)
    change.look = change.look and ("%ssaves work%s"):format(where, change.look > 1 and " #" .. change.look or "")
    change.line = line_at(starts, change.first)
    local text = source:sub(starts[change.line], (starts[change.line + 1] or #source + 2) - 2)
    change.line_text = text:match("^%s*(.-)%s*$")
  end
end

--- All changes of a file's functions and tables: {file, line, place (a function's name), everywhere
--- (it is in none), first, behind, text, name, key, look (the key of the condition that saves work,
--- where the change lets it save less)}; and how many more there are in classes that no test can notice.
--- nil, why: clang does not read it.
function syntax.changes(file)
  local handle = assert(io.open(file, "rb"))
  local source = handle:read("a")
  handle:close()
  -- A ccache that goes by clang's name would give the tree of another file: it has no key for what is printed.
  local command = ("CCACHE_DISABLE=1 clang %s -w -fsyntax-only -Xclang -ast-dump=json %s"):format(FLAGS, file)
  local pipe = assert(io.popen(command))
  local tree = pipe:read("a")
  if not pipe:close() then
    return nil, "clang does not read " .. file
  end
  local search = setmetatable({ file = file, source = source, changes = {}, known = {}, next_name = {} }, Search)
  for kind, text in each_declaration(tree) do
    local head = text:match('"loc": (%b{})') or ""
    local ours = head:find('"offset"', 1, true) and not head:find('"includedFrom"', 1, true)
    if kind == "EnumDecl" then
      local names = {}
      for _, constant in ipairs(json.decode(text).inner or {}) do
        names[#names + 1] = constant.kind == "EnumConstantDecl" and constant.name or nil
      end
      for i, name in ipairs(names) do
        search.next_name[name] = #names > 1 and names[i % #names + 1] or nil
      end
    elseif ours and (kind == "VarDecl" or (kind == "FunctionDecl" and text:find('"CompoundStmt"', 1, true))) then
      local node = json.decode(text)
      search.place, search.everywhere, search.looks = node.name, kind == "VarDecl", 0
      search.answers = node.type.qualType:match("^[^(]*")
      search:walk(node)
    end
  end
  name_all(search.changes, source)
  local tried = {}
  for _, change in ipairs(search.changes) do
    tried[#tried + 1] = not change.skipped and change or nil
  end
  return tried, #search.changes - #tried
end

--- The source with that change.
function syntax.apply(source, change)
  return source:sub(1, change.first - 1) .. change.text .. source:sub(change.behind)
end

return syntax
