-- SPDX-License-Identifier: MIT
--- tools/history.py names what is wrong in a history, from the file alone; and the histories of the simulation and of
--- chaos have what it needs.

local files = require "spec.support.file"
local folder = require "spec.support.folder"
local history = require "chaos.history"
local process = require "spec.support.process"
local uv = require "luv"

local unpack = table.unpack or unpack -- luacheck: ignore

local PATIENCE = 600 -- seconds for a short chaos on a machine that has much else to do

local function run(patience, command)
  command.env = command.env or process.PLAIN
  local one = process.spawn(command)
  local code = one:wait(patience)
  return one:stdout(), code, one:stderr()
end

local function judge(path) return run(60, { "python3", "tools/history.py", path }) end

local function write(text) return folder.file("planted", text) end

--- A line.
local function object(event, fields) return ('{"event":"%s",%s}\n'):format(event, fields) end

local function call(who)
  local name, number = who:match("^(%w+)/(%d+)$")
  return ('"process":"%s","call":%s'):format(name, number)
end

--- A hold of `a`, unless `more` says another path: asked for, granted, and sure until a moment.
local function hold(who, kind, token, asked, granted, sure, more)
  local lines = object("acquire", ('%s,"path":"/a","kind":"%s","invoke":%d,"return":%d,"outcome":"granted",'
    .. '"token":%d%s'):format(call(who), kind, asked, granted, token, more or ""))
  if not sure then return lines end
  return lines .. object("sure", ('%s,"from":%d,"until":%d'):format(call(who), granted, sure))
end

local function release(who, at, outcome)
  return object("release", ('%s,"invoke":%d,"return":%d,"outcome":"%s"'):format(call(who), at, at + 1, outcome or "ok"))
end

local function lost(who, at) return object("lost", ('%s,"at":%d'):format(call(who), at)) end

local function world(seed, ...)
  local text = object("run", ('"source":"planted","seed":%d'):format(seed)) .. table.concat { ... }
  local _, lines = text:gsub("\n", "\n")
  return text .. object("end", ('"lines":%d'):format(lines + 1))
end

--- Python takes its time to start, so one judges all planted worlds: each is a run of one file.
local worlds, said, code = {}, nil, nil

--- The judge's lines about a world; "" if there are none.
local function said_of(seed)
  if not said then said, code = judge(write(table.concat(worlds))) end
  local lines = {}
  for line in said:gmatch("[^\n]+") do
    if line:find(("planted, seed %d: "):format(seed), 1, true) then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

--- A test. Each case is what must be said of a world, or false if it is good, and the world's lines.
local function judged(name, ...)
  local cases = { ... }
  for _, case in ipairs(cases) do
    case.seed = #worlds + 1
    worlds[case.seed] = world(case.seed, unpack(case, 2))
  end
  it(name, function()
    for _, case in ipairs(cases) do
      local text = said_of(case.seed)
      if case[1] then assert.matches(case[1], text, 1, true) else assert.equal("", text) end
    end
  end)
end

local LEASES = ',"count":1,"permits":2'
local TWO, BACK, BESIDE = "two hold at once: ", "the token goes back: ", "a reader beside a writer: "
local ALL_THE_TIME = "granted while others held all the time: "

describe("a history #once", function()
  local FIRST, SECOND = hold("p/1", "mutex", 5, 10, 20, 90), hold("q/1", "mutex", 6, 15, 45, 99)

  judged("shows two who hold at once",
    { "/a: two hold at once: p's mutex 1 (line 2, token 5), sure until 90, and q's mutex 1 (line 4, token 6), sure "
      .. "from 45 to 99", FIRST, SECOND },
    { TWO, hold("p/1", "write", 5, 10, 20, 90), hold("q/1", "write", 6, 15, 20, 99) },
    { BESIDE, hold("p/1", "write", 5, 10, 20, 90), hold("q/1", "read", 6, 15, 20, 99) })

  judged("passes when holds follow each other", { false, FIRST, release("p/1", 40), SECOND },
    { false, hold("p/1", "mutex", 5, 10, 20, 45), SECOND })

  judged("takes a hold for certain between two moments at which it was",
    { TWO, hold("p/1", "mutex", 5, 10, 20, 30), object("sure", call("p/1") .. ',"from":70,"until":80'), SECOND },
    { TWO, hold("p/1", "mutex", 5, 10, 20, 30), release("p/1", 80), SECOND },
    { TWO, hold("p/1", "mutex", 5, 10, 20), release("p/1", 80, "unknown"),
      object("confirmed", call("p/1") .. ',"at":95'), SECOND },
    { false, hold("p/1", "mutex", 5, 10, 20, 30), release("p/1", 80, "unknown"), SECOND })

  judged("shows a token that goes back",
    { "/a: the token goes back: q's mutex 1 (line ", hold("p/1", "mutex", 6, 10, 20, 30),
      hold("q/1", "mutex", 5, 15, 45, 99) },
    { "token 5) was granted after p's mutex 1 (line ", hold("p/1", "mutex", 6, 10, 20, 30),
      hold("q/1", "mutex", 5, 15, 45, 99) },
    { BACK, hold("p/1", "mutex", 6, 10, 20), hold("q/1", "mutex", 5, 25, 45) },
    { false, hold("p/1", "mutex", 6, 10, 20), hold("q/1", "mutex", 5, 15, 45) },
    { BACK, hold("p/1", "read", 6, 10, 20, 30), hold("q/1", "write", 5, 15, 45, 99) },
    { BACK, hold("p/1", "write", 6, 10, 20, 30), hold("q/1", "read", 5, 15, 45, 99) },
    { false, hold("p/1", "read", 6, 10, 20, 30), hold("q/1", "read", 5, 25, 45, 99) },
    { BACK, hold("p/1", "semaphore", 6, 10, 20, 90, LEASES), hold("q/1", "semaphore", 5, 21, 30, 90, LEASES) })

  local function turn(who, n, asked, granted, sure)
    return hold(who, "mutex", 5, asked, granted, sure, ',"turn":' .. n)
  end
  judged("shows a turn that goes back, or comes twice",
    { BACK, turn("p/1", 2, 10, 20, 30), turn("p/2", 1, 15, 45, 99) },
    { "one token for two grants: ", turn("p/1", 2, 10, 20, 30), turn("p/2", 2, 15, 45, 99) },
    { false, turn("p/1", 1, 10, 20, 30), turn("p/2", 2, 15, 45, 99) },
    { false, hold("p/1", "mutex", 5, 10, 20), turn("p/2", 1, 15, 45, 99), hold("p/3", "mutex", 5, 15, 50) })

  judged("shows a token of two processes",
    { "one token in two processes: p's mutex 1 (line ", hold("p/1", "mutex", 5, 10, 20, 30),
      hold("q/1", "mutex", 5, 15, 45, 99) },
    { "one token in two processes: ", hold("p/1", "read", 5, 10, 20, 30), hold("q/1", "read", 5, 15, 45, 99) })

  local UNTIL_90 = hold("p/1", "mutex", 5, 10, 20, 90) .. release("p/1", 90)
  judged("shows a grant that returns before an earlier hold's end, although nobody was sure of it",
    { ALL_THE_TIME .. "q's mutex 1 (line ", UNTIL_90, hold("q/1", "mutex", 6, 25, 80) },
    { ALL_THE_TIME, hold("p/1", "mutex", 5, 10, 25, 90), hold("q/1", "mutex", 6, 25, 80) },
    { false, UNTIL_90, hold("q/1", "mutex", 6, 25, 95) },
    { false, UNTIL_90, hold("q/1", "mutex", 6, 25, 80), object("taken", '"process":"q","from":60,"token":6') },
    { ALL_THE_TIME .. "q's write 1 (line ", hold("p/1", "read", 5, 10, 20, 50), hold("p/2", "read", 6, 15, 45, 90),
      hold("q/1", "write", 7, 25, 80) })

  local TO_40_FROM_50 = hold("p/1", "mutex", 5, 10, 20, 40) .. hold("p/2", "mutex", 7, 42, 50, 90)
  judged("lets one be granted in a gap, with a token between",
    { false, TO_40_FROM_50, hold("q/1", "mutex", 6, 25, 80) },
    { BACK, TO_40_FROM_50, hold("q/1", "mutex", 8, 25, 80) },
    { BACK, TO_40_FROM_50, hold("q/1", "mutex", 4, 25, 80) })

  judged("shows a reader beside a writer",
    { BESIDE .. "p's write 1", hold("p/1", "write", 5, 10, 20, 90), hold("q/1", "read", 6, 15, 45, 99) },
    { BESIDE .. "p's read 1", hold("p/1", "read", 5, 10, 20, 90), hold("r/1", "read", 6, 10, 30, 35),
      hold("q/1", "write", 7, 15, 45, 99) })

  judged("lets readers share, and a writer read under its own write",
    { false, hold("p/1", "read", 5, 10, 20, 90), hold("q/1", "read", 6, 15, 45, 99),
      hold("q/2", "read", 6, 50, 60, 99) },
    { false, hold("q/1", "read", 6, 15, 45, 99, ',"turn":3'), hold("q/2", "read", 6, 50, 60, 99, ',"turn":3') },
    { false, hold("p/1", "write", 5, 10, 20, 90), hold("p/2", "read", 5, 25, 30, 99, ',"under":1') },
    { BESIDE, hold("p/1", "write", 5, 10, 20, 90), hold("p/2", "read", 6, 25, 30, 99, ',"under":1') },
    { BESIDE, hold("p/1", "write", 5, 10, 20, 90), hold("p/2", "read", 5, 25, 30, 99) },
    { BESIDE, hold("p/1", "write", 5, 10, 20, 90), hold("q/2", "read", 5, 25, 30, 99, ',"under":1') })

  local BOTH = hold("p/1", "semaphore", 5, 10, 20, 90, LEASES) .. hold("q/1", "semaphore", 6, 10, 30, 90, LEASES)
  judged("shows one lease too many",
    { "3 leases of 2 are held at once: p's semaphore 1 ", BOTH, hold("r/1", "semaphore", 7, 10, 40, 50, LEASES) },
    { "token 6, 2 of 2 leases)", hold("p/1", "semaphore", 5, 10, 20, 90, LEASES),
      hold("q/1", "semaphore", 6, 10, 30, 90, ',"count":2,"permits":2') },
    { ALL_THE_TIME .. "r's semaphore 1", BOTH, hold("r/1", "semaphore", 7, 35, 40, nil, LEASES) },
    { false, BOTH, hold("r/1", "semaphore", 7, 35, 40, nil, LEASES),
      object("taken", '"process":"r","from":38,"token":7') },
    { false, BOTH, release("p/1", 39), hold("r/1", "semaphore", 7, 10, 40, 50, LEASES) })

  judged("lets another one hold after a loss that was told", { false, FIRST, lost("p/1", 40), SECOND },
    { TWO, FIRST, lost("p/1", 50), SECOND })

  judged("shows a holder that is sure after its end",
    { "sure after the end: p's mutex 1", FIRST, lost("p/1", 40),
      object("sure", call("p/1") .. ',"from":41,"until":60') })

  judged("lets another one hold after an operator took the lock away, a drop, and a close",
    { false, FIRST, object("taken", '"process":"p","from":40,"token":5'), SECOND },
    { false, FIRST, object("taken", '"process":"p","from":40,"upto":9'), SECOND },
    { false, FIRST, object("drop", call("p/1") .. ',"at":40'), SECOND },
    { false, FIRST, object("close", '"process":"p","at":40'), SECOND },
    { TWO, FIRST, object("taken", '"process":"q","from":40,"token":5'), SECOND },
    { TWO, FIRST, object("taken", '"process":"p","from":40,"upto":4'), SECOND },
    { TWO, FIRST, object("taken", '"process":"p","from":50,"token":5'), SECOND },
    { TWO, FIRST, object("close", '"process":"q","at":40'), SECOND })

  local LATE = hold("p/2", "mutex", 5, 60, 65, nil, ',"turn":2')
  judged("lets a client be granted once more on a node that an operator has taken away",
    { false, hold("p/1", "mutex", 5, 10, 20, 35, ',"turn":1'), object("taken", '"process":"p","from":40,"token":5'),
      SECOND, LATE },
    { BACK, hold("p/1", "mutex", 5, 10, 20, 35, ',"turn":1'), object("taken", '"process":"p","from":40,"token":4'),
      hold("q/1", "mutex", 6, 42, 45, 50), LATE },
    { BACK, hold("p/1", "mutex", 5, 10, 20, 35, ',"turn":1'), object("taken", '"process":"p","from":90,"token":5'),
      hold("q/1", "mutex", 6, 42, 45, 50), hold("p/2", "mutex", 5, 60, 65, 80, ',"turn":2') })

  local GOES_ON = hold("p/1", "write", 5, 10, 20) .. hold("p/2", "read", 5, 25, 30, 99, ',"under":1')
    .. object("node", call("p/2") .. ',"token":7')
  judged("knows the node of a read that has the token of a write",
    { false, GOES_ON, object("taken", '"process":"p","from":40,"token":7'), hold("q/1", "write", 8, 15, 45, 99) },
    { BESIDE, GOES_ON, hold("q/1", "write", 8, 15, 45, 99) })

  it("ends with how many events it had, and how many runs were good", function()
    local bad = 0
    for seed = 1, #worlds do bad = bad + (said_of(seed) == "" and 0 or 1) end
    local _, events = table.concat(worlds):gsub("\n", "\n")
    assert.is_true(bad > 20 and bad < #worlds - 10)
    assert.matches(("judged %d events, "):format(events), said, 1, true)
    assert.matches((": %d passed, %d failed\n$"):format(#worlds - bad, bad), said)
    assert.equal(1, code)
  end)

  it("with one good run passes", function()
    local text, status = judge(write(world(1, FIRST, release("p/1", 40), SECOND)))
    assert.equal("judged 7 events, 2 holds, 2 of them certain for some time: 1 passed, 0 failed\n", text)
    assert.equal(0, status)
  end)
end)

describe("a file that is no history #once", function()
  --- The verdict on each of several files.
  local function refused(texts)
    local command = { "python3", "tools/history.py" }
    for i, text in ipairs(texts) do command[2 + i] = write(text) end
    local text, status, complained = run(60, command)
    assert.equal(2, status, text)
    local list = {}
    for line in complained:gmatch("[^\n]+") do list[#list + 1] = line:match("^history.py: .-/planted(:.*)$") end
    return list
  end

  local function expect(expected, texts)
    for i, line in ipairs(refused(texts)) do assert.equal(expected[i], line:sub(1, #expected[i])) end
  end

  local GOOD = hold("p/1", "mutex", 5, 10, 20, 90)

  it("is named with line and field", function()
    local texts, expected = {}, {}
    for line, lines in pairs {
      [":2: field 'return': missing"] = GOOD:gsub('"return":20,', ""),
      [":2: field 'token': an integer > 0 expected, got \"5\""] = GOOD:gsub('"token":5', '"token":"5"'),
      [":2: field 'token': missing"] = GOOD:gsub(',"token":5', ""),
      [":2: field 'invoke': an integer >= 0 expected, got 1.5"] = GOOD:gsub('"invoke":10', '"invoke":1.5'),
      [":2: field 'return': 20 is before 'invoke', 30"] = GOOD:gsub('"invoke":10', '"invoke":30'),
      [":2: field 'kind': one of mutex, read, write, semaphore expected, got \"gate\""] = GOOD:gsub("mutex", "gate"),
      [":2: field 'permits': a mutex has none"] = GOOD:gsub('"token":5', '"token":5,"permits":2'),
      [":3: field 'until': missing"] = GOOD:gsub(',"until":90', ""),
      [":3: field 'call': p has no granted acquire 1 in the lines before"] = GOOD:gsub("granted", "timeout")
        :gsub(',"token":5', ""),
      [":3: field 'colour': an event 'sure' has none"] = GOOD:gsub('"until"', '"colour":1,"until"'),
      [":3: field 'event': one of run, acquire"] = GOOD:gsub('"sure"', '"certain"'),
      [":4: field 'call': line 2 has this call at this path"] = GOOD .. GOOD,
      [":2: field 'token': either that or 'upto' expected"] = object("taken", '"process":"p","from":40'),
      [":2: not JSON: "] = "{\n",
      [":2: an object expected, got 7"] = "7\n",
    } do
      texts[#texts + 1], expected[#expected + 1] = world(1, lines), line
    end
    assert.equal(15, #refused(texts))
    expect(expected, texts)
  end)

  it("is told from one that was cut off", function()
    local text = world(1, GOOD)
    local endless = text:gsub('{"event":"end"[^\n]*\n', "")
    expect({ ":4: the line is cut off", ": cut off: the run of line 1 has no end",
      ":3: field 'lines': 4 lines from the run of line 1 on expected, got 3",
      ":4: field 'event': the run of line 1 has no end" },
      { text:sub(1, -2), endless, (text:gsub('{"event":"sure"[^\n]*\n', "")), endless .. text })
  end)

  it("is one in which there is nothing to judge", function()
    for _, text in ipairs { "", world(1), world(1, hold("p/1", "mutex", 5, 10, 20)) } do
      assert.matches("^: judged nothing", refused { text }[1])
    end
  end)
end)

describe("the history #once", function()
  local function simulation(path, ...)
    return run(PATIENCE, { env = { HISTORY = path or false, LD_PRELOAD = false }, "build/sim/simulation", ... })
  end

  --- `told` is what the run itself has said.
  local function passes(path, expected, told)
    local text, status, complained = judge(path)
    assert.equal(0, status, text .. complained .. (told or ""))
    assert.matches(expected, text)
  end

  it("of the simulation passes, and changes nothing in it", function()
    local path, again = write(""), write("")
    local silent = simulation(nil, "seed", "1000")
    assert.equal(silent, (simulation(path, "seed", "1000")))
    assert.equal(silent, (simulation(again, "seed", "1000")))
    assert.equal(files.read(path), files.read(again))
    passes(path, "^judged %d+ events, %d+ holds, [1-9]%d+ of them certain for some time: 1 passed, 0 failed\n$")
  end)

  it("of a caller with several leases names each node that operators may delete", function()
    local path = write("")
    simulation(path, "seed", "881000277") -- one deletes the second of two leases
    passes(path, "1 passed, 0 failed\n$")
  end)

  it("of many seeds passes", function()
    local path = write("")
    local text, status = simulation(path, "2", "1000", "stop")
    assert.equal(0, status, text)
    passes(path, ": %d+ passed, 0 failed\n$")
    local lines = files.read(path)
    for _, field in ipairs { '"event":"acquire"', '"event":"sure"', '"event":"release"', '"event":"confirmed"',
      '"event":"lost"', '"event":"drop"', '"event":"taken"', '"kind":"mutex"', '"kind":"read"', '"kind":"write"',
      '"kind":"semaphore"', '"outcome":"ok"', '"outcome":"timeout"' } do
      assert.is_truthy(lines:find(field, 1, true), field)
    end
  end)

  it("of a short chaos passes", function()
    local path = write("")
    local env = { HISTORY = path }
    for name, value in pairs(process.PLAIN) do env[name] = value end
    local text, _, complained = run(PATIENCE, { env = env, "lua5.4", "chaos/run.lua", "0.2", "1" })
    assert.matches("history: " .. path, text, 1, true, complained)
    passes(path, "^judged %d+ events, %d+ holds, [1-9]%d* of them certain for some time: 1 passed, 0 failed\n$",
      text)
  end)

  it("of a run drops half of a line that a killed process has left", function()
    local parts, path = folder.new("history"), write("")
    local one = history.open(parts, "w1.1")
    one:acquire { call = one:call(), paths = { "/a" }, kind = "mutex", invoke = history.now(), token = 5, turn = 0 }
    one:sure(1, history.now(), 10)
    one.file:write('{"event":"sure","proc')
    one.file:close()
    assert.equal(4, history.gather(parts, path, 7))
    passes(path, "^judged 4 events, 1 holds")
    assert.is_truthy(uv.fs_unlink(parts .. "/w1.1"))
  end)

  it("says nothing of the loss of a lease that was lost before it had a token", function()
    local parts = folder.new("history")
    local one = history.open(parts, "w1.1")
    local number = one:call()
    one:acquire { call = number, paths = { "/a", "/b" }, kind = "mutex", invoke = 1, err = "lost" }
    one:lost(number)
    one:release(number, 1, "lost")
    local _, lines = files.read(parts .. "/w1.1"):gsub("\n", "\n")
    assert.equal(2, lines)
  end)

  it("is not written when nobody wants one", function()
    local one = history.open(nil, "w1.1")
    assert.is_nil(one:call())
    one:acquire { call = nil, paths = { "/a" }, kind = "mutex", invoke = 1, token = 5 }
    one:sure(nil, 1, 1)
    one:close()
    one:taken("w1.1", 1, "token", 5)
    assert.is_nil(one.file)
  end)
end)
