-- SPDX-License-Identifier: MIT
--- How many holds a second does a machine have beside another one whose link is too slow for any validity?
--
-- Both want one mutex, again and again, with sessions of 10 seconds. The other one's answers take 2 seconds: it is
-- never granted the lock, and each of its nodes keeps the first one out until it is given up. Prints; asserts nothing.

local loop = require "spec.support.loop"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local zklock = require "zklock"

local SESSION, ONE_WAY, SECONDS = 10, 1, 90

local zk = server.shared()
local link = proxy.start(zk.hosts)
local quick = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
local slow = assert(zklock.connect(link.hosts, { session_timeout = SESSION, log = function() end }))
local ours, theirs = quick:mutex "/bench/slow", slow:mutex "/bench/slow"

--- The longest of these waits is how long a node of the slow machine kept the lock.
local function holds(seconds, beside)
  local count, longest, began = 0, 0, loop.now()
  while loop.now() < began + seconds do
    local asked, hold = loop.now(), nil
    ours:request(60, function(token, err, request) hold = assert(token, err) and request end)
    repeat
      beside()
      quick:poll(0.02)
    until hold
    assert(hold:release())
    count, longest = count + 1, math.max(longest, loop.now() - asked)
  end
  return count / (loop.now() - began), longest
end

local waits, answers = false, {}
local function ask_again()
  slow:poll(0)
  if waits then return end
  waits = true
  theirs:request(60, function(token, err, request)
    waits = false
    answers[#answers + 1] = err or "held"
    if token then request:release() end
  end)
end

print(("%.0f holds a second alone, the longest wait %.3f s"):format(holds(5, function() end)))
link:delay(ONE_WAY)
holds(3 * SESSION, ask_again) -- what it believed of its session before is over
answers = {}
local rate, longest = holds(SECONDS, ask_again)
print(("%.1f holds a second beside answers of %g s, the longest wait %.1f s"):format(rate, 2 * ONE_WAY, longest))
print(("the slow machine's answers: %s"):format(table.concat(answers, ", ")))
link:delay(0)
slow:close()
quick:close()
link:close()
