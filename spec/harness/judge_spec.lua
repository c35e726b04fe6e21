-- SPDX-License-Identifier: MIT
--- The judge of the resource's log: it must find what is wrong, and for the right reason.

local uv = require "luv"
local judge = require "spec.support.judge"
local resource = require "spec.support.resource"
local wait = require "spec.support.wait"

describe("the judge", function()
  it("refuses tokens that fall, and finds nothing wrong in that", function()
    local store = resource.start()
    local a, b = resource.open(store.address), resource.open(store.address)
    a:ask("a")
    assert.is_true(a:enter(10, "a"))
    assert.is_true(b:enter(11, "b"))
    assert.is_false(a:write(10, "a"))
    assert.is_true(b:leave(11, "b"))
    a:ask("a")
    a:close()
    local report = wait.eventually(function()
      local found = store:judge { faults = true, grants = 2 }
      return found.lines == 7 and found
    end)
    assert.same({}, report.violations)
    assert.is_false(store:judge().ok)
    store:close()
  end)

  it("lets those who share in together, and says who died inside", function()
    local store = resource.start()
    local a, b = resource.open(store.address), resource.open(store.address)
    assert.is_true(a:join(10, "a"))
    assert.is_true(b:join(11, "b"))
    assert.is_true(a:read(10, "a"))
    assert.is_true(a:part(10, "a"))
    b:close()
    local report = wait.eventually(function()
      local found = store:judge { grants = 2, permits = 2 }
      return found.lines == 5 and found
    end)
    assert.same({}, report.violations)
    store:close()
  end)

  local FAULTS, SHARED, BOTH = { faults = true }, { shared_tokens = true }, { faults = true, shared_tokens = true }

  it("is told until when owners are sure, and by operators what they take away", function()
    local store = resource.start()
    local a, operator = resource.open(store.address), resource.open(store.address)
    local function micros(seconds) return math.floor(tonumber(uv.hrtime()) / 1e3 + seconds * 1e6) end
    assert.is_nil(store:inside())
    assert.is_true(a:enter(10, "w/1", micros(60)))
    assert.equal("w/1", store:inside())
    operator:void(10, "w")
    assert.is_true(a:enter(11, "x/1", micros(60)))
    assert.equal("x/1", store:inside())
    assert.is_false(a:write(10, "w/1", micros(60)))
    operator:ending("x")
    operator:ended(11, "x")
    assert.is_true(a:enter(12, "y/1", micros(60)))
    assert.is_true(a:leave(12, "y/1"))
    assert.is_nil(store:inside())
    a:lost(11, "x/1")
    assert.same({}, store:judge({ faults = true }).violations)
    assert.is_true(a:enter(13, "z/1", micros(60)))
    assert.is_true(a:enter(14, "y/1", micros(60)))
    assert.equal(1, store:judge({ faults = true, open_end = true }).overlaps)
    a:close()
    operator:close()
    store:close()
  end)

  local function long(log) return (log:gsub("%+", "accepted"):gsub("%-", "refused"):gsub(";", "\n")) end

  local POOL = { faults = true, permits = 3 }
  local sound = "0 a ask +;0 b ask +;5 a enter +;5 a write +;5 a leave +;9 b enter +;9 b leave +;0 a ask +;0 a quit +;"
  local overtaken = "5 a enter +;9 b enter +;"
  local sure = "5 a/1 enter + 10 20;9 b/1 enter + 15 30;" -- microseconds: the step's, and until when its owner is sure

  it("finds nothing in a sound log", function()
    local function assert_sound(log, options) assert.same({}, judge.text(long(log), options).violations) end
    assert_sound(sound, { grants = 2 })
    assert_sound(overtaken .. "5 a write -;9 b leave +;", { faults = true })
    assert_sound(overtaken .. "5 a lost +;9 b gone +;", { faults = true })
    assert_sound("5 a enter +;5 a gone +;9 b enter +;9 b leave +;")
    assert_sound("5 a enter +;5 a leave +;5 b enter +;5 b leave +;", { shared_tokens = true })
    assert_sound("0 a ask +;5 b enter +;", { open_end = true })
    assert_sound("5 a join +;9 b join +;5 a read +;5 a part +;9 b part +;12 c enter +;12 c leave +;")
    assert_sound("5 a enter +;5 a leave +;5 a join +;5 a part +;") -- a writer that goes on as a reader
    assert_sound("5 a join +;9 b*2 join +;5 a part +;7 c join +;7 c part +;9 b*2 part +;", { permits = 3 })
    assert_sound("5 a join +;9 b enter +;5 a read -;9 b leave +;", FAULTS)
    assert_sound("5 a enter + 10 20;9 b enter + 20 30;5 a write - 21 20;9 b leave + 22 30;", { faults = true })
    assert_sound("5 a void +;" .. sure .. "5 a/1 write - 16 20;5 a/1 live +;9 b/1 leave + 17 30;", { faults = true })
    assert_sound("0 a ending +;" .. sure .. "5 a/1 lost +;9 b/1 leave + 17 30;7 a ended +;", { faults = true })
    assert_sound("0 a ending +;7 a ended +;" .. sure .. "5 a/1 lost +;9 b/1 leave + 17 30;", { faults = true })
    assert_sound("5 a*2 join + 10 20;9 b join + 11 20;5 a*2 part + 12 20;12 c*2 join + 13 20;12 c*2 part +;9 b lost +;",
      POOL)
    assert_sound("5 a*2 join + 10 15;9 b*2 join + 15 20;5 a*2 lost +;9 b*2 part + 16 20;", POOL)
    assert_sound("52 w/1 enter + 10 20;5 w void +;60 b enter + 15 30;52 w/1 lost +;60 b leave +;",
      { faults = true, turns = 10 }) -- the lock's token was 5, the turn 2
    local reads_on = "5 w/1 enter + 1 9;5 w/1 leave + 2 9;5 w/1 under + 3 7;5 w/1 join + 4 20;"
    assert_sound(reads_on .. "7 w void +;9 b enter + 15 30;5 w/1 lost +;9 b leave +;", { faults = true })
    assert_sound("7 w void +;" .. reads_on .. "9 b enter + 15 30;5 w/1 lost +;9 b leave +;", { faults = true })
    assert_sound("5 w void +;5 w/1*2 join + 10 20;9 b*2 join + 15 20;5 w/1*2 lost +;9 b*2 part + 16 20;", POOL)
    assert_sound("5 a join + 10 20;9 b enter + 21 30;5 a read - 22 20;9 b leave + 23 30;", FAULTS)
    assert_sound("5 a enter + 10 12;5 a leave + 11 12;9 b enter + 15 30;5 a freed + 16 14;9 b leave +;", FAULTS)
    assert_sound("5 a join + 10 12;9 b join + 13 30;5 a part + 14 15;5 a freed + 16 15;9 b part +;", FAULTS)
    assert_sound("5 a void +;5 a enter + 10 12;9 b enter + 15 30;5 a freed + 20 17;9 b leave +;5 a lost +;", FAULTS)
    assert_sound("5 a enter + 10 12;5 a leave + 11 12;9 a join + 13 30;5 a freed + 16 14;9 a part +;", FAULTS)
    assert_sound("9 b void +;" .. sure .. "5 a/1 lost +;9 b/1 leave + 17 30;", { faults = true })
  end)

  -- Rows: what is wrong, the log (";" ends a line, "+" stands for accepted, "-" for refused), what the judge says
  -- first, how the run was.
  local seeded = {
    { "a smaller token that enters", "9 b enter +;9 b leave +;5 a enter +;5 a leave +;", "token 5 accepted after 9" },
    { "a smaller token that writes", overtaken .. "5 a write +;5 a lost +;9 b leave +;", "write.* after 9", FAULTS },
    { "a smaller token that leaves", overtaken .. "5 a leave +;9 b leave +;", "leave.* accepted after 9", FAULTS },
    { "a token of two owners", "5 a enter +;5 a leave +;5 b enter +;5 b leave +;", "token 5 of a is also b's" },
    { "a refused token that is another's", overtaken .. "5 c write -;5 a lost +;9 b leave +;", "is also c's", FAULTS },
    { "a token that serves two grants", "9 b enter +;9 b leave +;9 b enter +;9 b leave +;", "a second grant" },
    { "two inside", overtaken .. "9 b leave +;5 a gone +;", "b enters while a is inside" },
    { "two inside with one token", "5 a enter +;5 b enter +;5 b leave +;5 a leave +;", "b enters while a is", SHARED },
    { "two inside with one token, among faults", "5 a enter +;5 b enter +;5 b leave +;5 a leave +;",
      "b enters with the token of a", BOTH },
    { "an owner that enters twice", "5 a enter +;6 a enter +;6 a leave +;", "a enters twice" },
    { "a step of one who never entered", "5 a write +;", "write of a, who is not inside" },
    { "a leave of one who never entered", "5 a leave +;", "leave of a, who is not inside" },
    { "a step after leaving", "5 a enter +;5 a leave +;5 a write +;", "write of a, who is not inside" },
    { "a step with another token", "5 a enter +;6 a write +;5 a gone +;", "token 6, but it entered with 5" },
    { "a live holder refused", overtaken .. "5 a write -;5 a live +;9 b leave +;", "live holder a refused", FAULTS },
    { "an entry refused for nothing", "5 a enter -;", "enter of a refused although no token", FAULTS },
    { "a step refused for nothing", "5 a enter +;5 a write -;", "write of a refused although no token", FAULTS },
    { "a leave refused for nothing", "5 a enter +;5 a leave -;", "leave of a refused although no token", FAULTS },
    { "a refusal without faults", "9 a enter +;9 a leave +;8 c enter -;", "refused in a run without faults" },
    { "a loss without faults", "5 a enter +;5 a lost +;", "a lost its lock in a run without faults" },
    { "a step after a reported loss", "5 a enter +;5 a lost +;5 a write +;", "after it reported its loss", FAULTS },
    { "an entry after a reported loss", "5 a lost +;5 a enter +;5 a leave +;", "after it reported its loss", FAULTS },
    { "two who are sure at one moment", sure .. "9 b/1 leave + 16 30;5 a/1 lost +;",
      "enter of b/1 with token 9 while a/1 with 5 is sure", FAULTS },
    { "two who are sure, the later one in a later step",
      "5 a enter + 10 20;9 b enter +;9 b write + 15 30;5 a lost +;9 b gone +;",
      "write of b with token 9 while a with 5 is sure", FAULTS },
    { "two who are sure, the first in a later step",
      "5 a enter + 10 12;9 b enter + 13 14;9 b write + 20 30;5 a write - 21 25;9 b leave +;",
      "refused while it is sure", FAULTS },
    { "two who are sure, the first since a step inside",
      "5 a enter + 10 12;5 a write + 11 20;9 b enter + 15 30;5 a lost +;9 b leave +;",
      "enter of b with token 9 while a with 5 is sure", FAULTS },
    { "a writer who is sure beside a reader since a step inside",
      "5 a join + 10 12;5 a read + 11 20;9 b enter + 15 30;5 a lost +;9 b leave +;",
      "enter of b with token 9 while a with 5 is sure", FAULTS },
    { "an entry refused while its owner is sure", "9 b enter +;5 a enter - 15 20;9 b leave +;",
      "enter of a with token 5 refused while it is sure", FAULTS },
    { "one who is sure of more than an operator took", "4 a void +;" .. sure .. "5 a/1 lost +;9 b/1 gone +;",
      "while a/1 with 5 is sure", FAULTS },
    { "one who is sure of what an operator took from another", "5 c void +;" .. sure .. "5 a/1 lost +;9 b/1 gone +;",
      "while a/1 with 5 is sure", FAULTS },
    { "a reader who is sure, of whose nodes an operator took another",
      "5 w/1 under + 3 7;5 w/1 join + 4 20;8 w void +;9 b enter + 15 30;5 w/1 lost +;9 b leave +;",
      "while w/1 with 5 is sure", FAULTS },
    { "one who is sure in the session after the one that was ended",
      "0 a ending +;4 a ended +;" .. sure .. "5 a/1 lost +;9 b/1 gone +;", "while a/1 with 5 is sure", FAULTS },
    { "a writer who is sure beside a reader", "5 a join + 10 20;9 b enter + 15 30;5 a lost +;9 b leave + 21 30;",
      "enter of b with token 9 while a with 5 is sure", FAULTS },
    { "a reader who is sure beside a writer", "5 a enter + 10 20;9 b join + 15 30;5 a lost +;9 b part + 21 30;",
      "join of b with token 9 while a with 5 is sure", FAULTS },
    { "a reader who is sure beside a writer later on",
      "5 a enter + 10 12;9 b join + 13 14;5 a gone +;12 c enter + 15 30;9 b read - 16 30;12 c leave +;",
      "read of b with token 9 refused while it is sure", FAULTS },
    { "leases too many that are sure",
      "5 a*2 join + 10 20;9 b join + 11 12;12 c join + 12 20;9 b read + 13 20;5 a*2 part +;9 b part +;12 c part +;",
      "read of b with token 9 while 4 leases of 3 are sure", POOL },
    { "a release as held after another one came in",
      "5 a enter + 10 12;9 b enter + 13 30;9 b leave + 15 30;5 a lost +;5 a freed + 20 14;",
      "a released token 5 as held, but b had come in before with 9", FAULTS },
    { "a release as held after a reader came in beside a writer",
      "5 a enter + 10 12;5 a leave + 11 12;9 b join + 13 30;9 b part + 15 30;5 a freed + 20 14;",
      "a released token 5 as held, but b had", FAULTS },
    { "a reader's release as held after a writer came in, and one more reader",
      "5 a join + 10 12;5 a part + 11 12;9 b enter + 13 30;9 b leave + 15 30;12 c join + 16 30;12 c part +;"
        .. "5 a freed + 20 17;",
      "a released token 5 as held, but b had", FAULTS },
    { "a clock that goes back", "5 a enter + 10 20;5 a leave + 9 20;", "clock went back" },
    { "half of a claim", "5 a enter + 10;5 a leave +;", "not a log line" },
    { "the end of a session with a token", "3 a ending +;", "ending of a with token 3" },
    { "a waiter forgotten", "0 c ask +;", "c asked in line 1 and was neither served nor answered" },
    { "a holder that never leaves", "10 c enter +;", "c entered in line 1 and neither left" },
    { "an overtaken holder never heard of again", overtaken .. "9 b leave +;", "a entered in line 1", FAULTS },
    { "a step by the dead", "5 a enter +;5 a gone +;5 a write +;", "whose process ended in line 2", FAULTS },
    { "a question by the dead", "5 a gone +;0 a ask +;0 a quit +;", "whose process ended in line 1" },
    { "a question asked twice", "0 a ask +;0 a ask +;0 a quit +;", "a asks twice" },
    { "a question from inside", "5 a enter +;0 a ask +;5 a leave +;0 a quit +;", "asks while it is inside" },
    { "an answer without a question", "0 a quit +;", "gives up what it did not ask for" },
    { "an entry without a token", "0 a enter +;", "enter of a with token 0" },
    { "a question with a token", "3 a ask +;", "ask of a with token 3" },
    { "a token beyond what numbers hold", "9999999999999999999 a enter +;", "with token 9999999999999999999" },
    { "a reader beside a writer", "5 a enter +;9 b join +;5 a leave +;9 b part +;", "b joins while a is inside alone" },
    { "a writer beside a reader", "5 a join +;9 b enter +;5 a part +;9 b leave +;", "b enters while a is inside" },
    { "a reader that is later than it thinks", "9 b enter +;9 b leave +;5 a join +;5 a part +;", "join .* after 9" },
    { "a read after somebody wrote", "5 a join +;9 b enter +;9 b leave +;5 a read +;5 a part +;", "read .* after 9",
      FAULTS },
    { "a writer that a later reader passed", "9 b join +;9 b part +;5 a enter +;5 a leave +;", "accepted after 9" },
    { "a reader refused for nothing", "9 b join +;5 a join -;9 b part +;", "refused although nobody wrote" },
    { "a reader refused without faults", "9 b enter +;9 b leave +;5 a join -;", "in a run without faults" },
    { "a token that two readers have", "5 a join +;5 b join +;5 a part +;5 b part +;", "is also b's" },
    { "a token that serves two readings", "5 a join +;5 a part +;5 a join +;5 a part +;", "a second grant" },
    { "a reader that joins twice", "5 a join +;6 a join +;6 a part +;", "a enters twice" },
    { "a reader that writes", "5 a join +;5 a write +;5 a part +;", "write of a, who only joined" },
    { "a reader that never joined", "5 a read +;", "read of a, who has not joined" },
    { "a reader with another token", "5 a join +;6 a part +;", "but it joined with 5" },
    { "a reader that reads after its loss", "5 a join +;5 a lost +;5 a read +;", "after it reported its loss", FAULTS },
    { "a lease too many", "5 a join +;6 b join +;7 c join +;5 a part +;6 b part +;7 c part +;",
      "3 leases of 2 are inside with c", { permits = 2 } },
    { "counted leases too many", "5 a*2 join +;6 b*2 join +;5 a*2 part +;6 b*2 part +;", "4 leases of 3",
      { permits = 3 } },
    { "an unknown step", "5 a jump +;", "unknown step jump" },
    { "an unknown verdict", "5 a enter perhaps;", "unknown verdict perhaps" },
    { "a line that is none", "hello;", "not a log line: hello" },
    { "an empty line", ";", "not a log line" },
    { "a last line cut off", "12 c en", "cut off: 12 c en" },
    { "a last line that only lacks its end", "0 c ask +", "cut off", { open_end = true } },
    { "too few grants", "5 a enter +;5 a leave +;", "only 1 grants, not 2", { grants = 2 } },
    { "an empty log", "", "only 0 grants", { grants = 1 } },
  }

  for _, case in ipairs(seeded) do
    local what, short, said, options = case[1], case[2], case[3], case[4]
    it("finds " .. what, function()
      local report = judge.text(long(short), options)
      assert.is_false(report.ok)
      assert.matches(said, report.violations[1])
    end)
  end

  it("reads a million lines in seconds", function()
    local n = 0
    local report = judge.lines(function()
      n = n + 1
      if n > 1000000 then return nil end
      local token = math.floor((n + 3) / 4)
      local verb = ({ "ask", "enter", "write", "leave" })[(n - 1) % 4 + 1]
      if verb == "ask" then return ("0 w%d ask accepted"):format(token % 8) end
      return ("%d w%d %s accepted %d %d"):format(token, token % 8, verb, n, n + 1)
    end)
    assert.is_true(report.ok)
    assert.equal(250000, report.grants)
  end)
end)
