-- SPDX-License-Identifier: MIT
--- Reads a resource's log and says what in it no lock may ever allow.
--
-- Accepted tokens never fall, a token has one owner and serves one grant, nobody goes in while another is inside, no
-- live holder is refused, and everybody who asked is served or answered. In a run with injected faults a holder may
-- be overtaken, if it could know (its session ended, its validity was over): then the resource must refuse all it
-- still tries. Where steps say until when their owner is sure to hold, no two may be sure at the same moment, but for
-- those who share and those whose lock an operator took away. A release that says that it was still held is
-- wrong if another owner came in before it with a larger token, unless both share. The log is read as a stream; the
-- judge trusts nothing that the resource decided.
--
-- Readers and holders of leases may be inside together, but never beside one who is there alone, and never more of
-- them than there are permits. An owner whose name ends in "*N" has N leases.

local judge = {}

local MOST = 100 -- violations that are described; all are counted
local VERBS = { ask = true, quit = true, enter = true, write = true, leave = true, lost = true, live = true,
  gone = true, join = true, read = true, part = true, void = true, ending = true, ended = true, under = true,
  freed = true }
local DIGITS = math.maxinteger and 18 or 15 -- as many as are exact in this Lua
local WITHOUT_TOKEN = { ask = true, quit = true, ending = true }
local NOBODYS_TOKEN = { gone = true, void = true, ending = true, ended = true }

---@class judge.options
---@field faults boolean? holders may lose the lock: overtaking, refusals and losses are no violations by themselves
---@field shared_tokens boolean? several owners and grants in a row may use one token (fair = false)
---@field turns integer? a token here is a lock's token times this, and a turn: operators name locks' tokens
---@field open_end boolean? the log was read in mid-run: somebody may still be inside or waiting
---@field permits integer? so many leases may be inside together, in a run with faults: be sure to be held
---@field grants integer? at least so many entries must have been accepted

local state = {}
state.__index = state

local function new_state(options)
  return setmetatable({
    options = options or {}, line = 0, largest = 0, grants = 0, refusals = 0, stale = 0, overlaps = 0, count = 0,
    now = 0, violations = {}, owner_of = {}, inside = {}, asking = {}, lost = {}, gone = {}, granted = {}, voids = {},
    joined = {}, under = {}, written = 0, entries = {},
  }, state)
end

function state:violation(text, ...)
  self.count = self.count + 1
  if self.count > MOST then return end
  self.violations[self.count] = ("line %d: %s"):format(self.line, select("#", ...) > 0 and text:format(...) or text)
end

local function own_token(self, token, owner)
  local known = self.owner_of[token]
  if not known then
    self.owner_of[token] = owner
  elseif known ~= owner and not self.options.shared_tokens then
    self:violation("token %d of %s is also %s's", token, known, owner)
  end
end

--- Did an operator take this away? Then its owner could be sure of it, and yet another hold.
local function is_void(self, token, owner)
  local void, turns = self.voids[owner:match("^[^/]*")], self.options.turns or 1
  local of_lock = (token - token % turns) / turns -- of many digits, too
  return void and (void.ending or of_lock <= void.ended or void[of_lock] or void[self.under[of_lock]])
end

local function leases_of(owner) return tonumber(owner:match("%*(%d+)$")) or 1 end

local function overlap(self, ...)
  self.overlaps = self.overlaps + 1
  self:violation(...)
end

--- A step was taken while its owner was sure to hold: nobody else may be, but for those who share as this one does.
local function check_sure(self, token, owner, verb, sure, shared)
  if sure <= self.now then return end
  local leases = shared and self.options.permits and leases_of(owner) or 0
  for other, visit in pairs(self.inside) do
    if other ~= owner and visit.sure > self.now and not is_void(self, visit.token, other)
      and not is_void(self, token, owner) then
      if not (shared and visit.shared) then
        overlap(self, "%s of %s with token %d while %s with %d is sure to hold, too", verb, owner, token, other,
          visit.token)
      elseif self.options.permits then
        leases = leases + leases_of(other)
      end
    end
  end
  if leases > (self.options.permits or leases) and not is_void(self, token, owner) then
    overlap(self, "%s of %s with token %d while %d leases of %d are sure to be held", verb, owner, token, leases,
      self.options.permits)
  end
end

--- A refused step ends the visit. Whoever was sure to hold is never refused.
local function check_refused(self, token, owner, verb, sure)
  self.refusals = self.refusals + 1
  self.inside[owner] = nil
  if sure > self.now and not is_void(self, token, owner) then
    overlap(self, "%s of %s with token %d refused while it is sure to hold", verb, owner, token)
  end
  if not self.options.faults then self:violation("%s of %s refused in a run without faults", verb, owner) end
end

local function check_accepted(self, token, owner, verb)
  if token < self.largest then
    self.stale = self.stale + 1
    self:violation("%s of %s with token %d accepted after %d", verb, owner, token, self.largest)
  end
  if token > self.largest then self.largest = token end
  if token > self.written then self.written = token end
  if self.lost[owner] == token then self:violation("%s of %s accepted after it reported its loss", verb, owner) end
end

local function refuse(self, token, owner, verb, sure)
  if token >= self.largest then self:violation("%s of %s refused although no token was larger", verb, owner) end
  check_refused(self, token, owner, verb, sure)
end

--- Notes who came in when, and whose tokens are the largest so far.
local function note_entry(self, token, owner, is_alone)
  local list, one = self.entries, { token = token, owner = owner, now = self.now }
  local last = list[#list] or { any = one, alone = { token = 0 } }
  one.any = token > last.any.token and one or last.any
  one.alone = is_alone and token > last.alone.token and one or last.alone
  list[#list + 1] = one
end

--- The latest entry before that moment.
local function entry_before(self, moment)
  local list = self.entries
  local low, high = 0, #list
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if list[middle].now < moment then low = middle else high = middle - 1 end
  end
  return list[low]
end

local on = {}

function on.ask(self, _, owner)
  if self.asking[owner] then self:violation("%s asks twice", owner) end
  if self.inside[owner] then self:violation("%s asks while it is inside", owner) end
  self.asking[owner] = self.line
end

function on.quit(self, _, owner)
  if not self.asking[owner] then self:violation("%s gives up what it did not ask for", owner) end
  self.asking[owner] = nil
end

function on.enter(self, token, owner, verdict, _, sure)
  self.asking[owner] = nil
  if verdict == "refused" then return refuse(self, token, owner, "enter", sure) end
  check_accepted(self, token, owner, "enter")
  check_sure(self, token, owner, "enter", sure)
  if self.granted[token] and not self.options.shared_tokens then
    self:violation("token %d serves a second grant", token)
  end
  self.granted[token] = true
  note_entry(self, token, owner, true)
  self.grants = self.grants + 1
  for other, visit in pairs(self.inside) do
    if other == owner then
      self:violation("%s enters twice", owner)
    elseif not self.options.faults then
      self:violation("%s enters while %s is inside", owner, other)
    elseif visit.token == token then
      self:violation("%s enters with the token of %s, who is inside", owner, other)
    end
  end
  self.inside[owner] = { token = token, line = self.line, sure = sure }
end

local function inside_step(self, token, owner, verdict, verb, sure)
  local visit = self.inside[owner]
  if verdict == "refused" then return refuse(self, token, owner, verb, sure) end
  check_accepted(self, token, owner, verb)
  check_sure(self, token, owner, verb, sure)
  if visit and sure > 0 then visit.sure = sure end
  if not visit then
    self:violation("%s of %s, who is not inside", verb, owner)
  elseif visit.shared then
    self:violation("%s of %s, who only joined", verb, owner)
  elseif visit.token ~= token then
    self:violation("%s of %s with token %d, but it entered with %d", verb, owner, token, visit.token)
  end
  if verb == "leave" then self.inside[owner] = nil end
end

on.write, on.leave = inside_step, inside_step

-- A step of one who shares is stale once somebody later was there alone, but not because somebody later shared.

local function check_shared(self, token, owner, verdict, verb, sure)
  if verdict == "accepted" then
    if token < self.written then
      self.stale = self.stale + 1
      self:violation("%s of %s with token %d accepted after %d", verb, owner, token, self.written)
    end
    if self.lost[owner] == token then self:violation("%s of %s accepted after it reported its loss", verb, owner) end
    if token > self.largest then self.largest = token end
    check_sure(self, token, owner, verb, sure, true)
    return true
  end
  if token >= self.written then self:violation("%s of %s refused although nobody wrote later", verb, owner) end
  check_refused(self, token, owner, verb, sure)
end

function on.join(self, token, owner, verdict, _, sure)
  self.asking[owner] = nil
  if not check_shared(self, token, owner, verdict, "join", sure) then return end
  if self.joined[token] and not self.options.shared_tokens then
    self:violation("token %d serves a second grant", token)
  end
  self.joined[token] = true
  note_entry(self, token, owner, false)
  self.grants = self.grants + 1
  local leases = leases_of(owner)
  for other, visit in pairs(self.inside) do
    if other == owner then
      self:violation("%s enters twice", owner)
    elseif visit.shared then
      leases = leases + leases_of(other)
    elseif not self.options.faults then
      self:violation("%s joins while %s is inside alone", owner, other)
    end
  end
  if leases > (self.options.permits or leases) and not self.options.faults then
    self:violation("%d leases of %d are inside with %s", leases, self.options.permits, owner)
  end
  self.inside[owner] = { token = token, line = self.line, sure = sure, shared = true }
end

local function shared_step(self, token, owner, verdict, verb, sure)
  local visit = self.inside[owner]
  if not check_shared(self, token, owner, verdict, verb, sure) then return end
  if visit and sure > 0 then visit.sure = sure end
  if not (visit and visit.shared) then
    self:violation("%s of %s, who has not joined", verb, owner)
  elseif visit.token ~= token then
    self:violation("%s of %s with token %d, but it joined with %d", verb, owner, token, visit.token)
  end
  if verb == "part" then self.inside[owner] = nil end
end

on.read, on.part = shared_step, shared_step

function on.lost(self, token, owner)
  if not self.options.faults then self:violation("%s lost its lock in a run without faults", owner) end
  self.lost[owner] = token
  self.inside[owner] = nil
end

function on.live(self, token, owner)
  if is_void(self, token, owner) then return end
  self:violation("live holder %s refused with token %d", owner, token)
end

function on.freed(self, token, owner, _, _, moment)
  local before = entry_before(self, moment)
  -- Of a hold that never came in nobody knows whether it shares.
  local other = before and (self.granted[token] and not self.joined[token] and before.any or before.alone)
  if not other or other.token <= token or other.owner == owner then return end
  if is_void(self, token, owner) or is_void(self, other.token, other.owner) then return end
  overlap(self, "%s released token %d as held, but %s had come in before with %d", owner, token, other.owner,
    other.token)
end

function on.under(self, token, _, _, _, node)
  local turns = self.options.turns or 1
  self.under[(token - token % turns) / turns] = node
end

local function voids_of(self, who)
  self.voids[who] = self.voids[who] or { ended = 0 }
  return self.voids[who]
end

function on.void(self, token, who) voids_of(self, who)[token] = true end

function on.ending(self, _, who) voids_of(self, who).ending = true end

function on.ended(self, token, who)
  local void = voids_of(self, who)
  void.ending, void.ended = nil, token
end

function on.gone(self, _, owner)
  self.gone[owner] = self.line
  self.inside[owner], self.asking[owner] = nil, nil
end

local function take(self, text)
  self.line = self.line + 1
  local digits, owner, verb, verdict, now, sure = text:match("^(%d+) (%S+) (%l+) (%l+) ?(%d*) ?(%d*)$")
  if not digits or (now == "") ~= (sure == "") then return self:violation("not a log line: %s", text:sub(1, 80)) end
  now, sure = tonumber(now) or 0, tonumber(sure) or 0
  if not VERBS[verb] then return self:violation("unknown step %s", verb) end
  if verdict ~= "accepted" and verdict ~= "refused" then return self:violation("unknown verdict %s", verdict) end
  local token = tonumber(digits)
  local without = WITHOUT_TOKEN[verb] or false
  if #digits > DIGITS or without ~= (token == 0) and verb ~= "gone" then
    return self:violation("%s of %s with token %s", verb, owner, digits)
  end
  if now > 0 then
    if now < self.now then self:violation("the resource's clock went back") end
    self.now = now
  end
  if self.gone[owner] then self:violation("%s of %s, whose process ended in line %d", verb, owner, self.gone[owner]) end
  if not (without or NOBODYS_TOKEN[verb]) then own_token(self, token, owner) end
  return on[verb](self, token, owner, verdict, verb, sure)
end

local function finish(self)
  if not self.options.open_end then
    for owner, line in pairs(self.asking) do
      self:violation("%s asked in line %d and was neither served nor answered", owner, line)
    end
    for owner, visit in pairs(self.inside) do
      self:violation("%s entered in line %d and neither left nor heard of its loss", owner, visit.line)
    end
  end
  if self.options.grants and self.grants < self.options.grants then
    self:violation("only %d grants, not %d", self.grants, self.options.grants)
  end
  return { ok = self.count == 0, count = self.count, violations = self.violations, lines = self.line,
    grants = self.grants, refusals = self.refusals, largest = self.largest, stale = self.stale,
    overlaps = self.overlaps }
end

--- Judges a log given as an iterator of lines (without their ends).
---@param lines fun(): string?
---@param options judge.options?
---@return table report { ok =, count =, violations = first hundred texts, lines =, grants =, refusals =, largest =,
---  stale = accepted although a larger token was there, overlaps = two were sure to hold at one moment }
function judge.lines(lines, options)
  local self = new_state(options)
  for text in lines do take(self, text) end
  return finish(self)
end

--- Judges a log given as text.
function judge.text(text, options)
  local self = new_state(options)
  for line, ending in text:gmatch("([^\n]*)(\n?)") do
    if ending == "\n" then
      take(self, line)
    elseif line ~= "" then
      self.line = self.line + 1
      self:violation("the last line is cut off: %s", line:sub(1, 80))
    end
  end
  return finish(self)
end

--- Judges a log file.
---@param path string
---@param options judge.options?
function judge.read(path, options)
  local file = assert(io.open(path, "rb"))
  local size = file:seek("end")
  local whole = true
  if size > 0 then
    file:seek("set", size - 1)
    whole = file:read(1) == "\n"
  end
  file:seek("set", 0)
  local self = new_state(options)
  for text in file:lines() do take(self, text) end
  file:close()
  if not whole then self:violation("the last line is cut off") end
  return finish(self)
end

--- Raises with what the judge found, if it found anything.
function judge.demand(report)
  if report.ok then return report end
  error(("%d violations in %d lines:\n%s"):format(report.count, report.lines, table.concat(report.violations, "\n", 1,
    math.min(#report.violations, 10))), 2)
end

return judge
