-- SPDX-License-Identifier: MIT
--- A program for another machine (PLATFORM: the command) and a client of this one share a mutex. #platforms

local fixture = require "spec.support.fixture"
local process = require "spec.support.process"

local words = {}
for word in (os.getenv("PLATFORM") or ""):gmatch("%S+") do words[#words + 1] = word end

describe("a program for another machine #platforms", function()
  local here = fixture.new("/platforms", { session_timeout = 20 })

  --- Starts examples/c/epoll.c, which holds the lock for so many seconds.
  local function start(seconds)
    assert(#words > 0, "PLATFORM must be the command: make platforms sets it")
    local command = { env = process.PLAIN }
    for _, word in ipairs(words) do command[#command + 1] = word end
    for _, word in ipairs { here.zk.hosts, here.path, seconds } do command[#command + 1] = word end
    return here:closes(process.spawn(command), process.kill)
  end

  local function token_of(one) return tonumber((one:read_line(here.patience) or ""):match("^granted (%d+)$")) end

  it("waits for the holder, has a larger token, and is waited for", function()
    local client = here:connect()
    local lock = client:mutex(here.path)
    local first = assert(lock:acquire(here.patience))
    local one = start("1")
    here:becomes(2)
    assert.equal("", one:stdout())
    local request, heard = here:ask(lock)
    here:becomes(3)
    assert(lock:release())
    local token = token_of(one)
    assert.is_true(token > first)
    assert.is_nil(heard[1])
    here:hear(heard)
    assert.is_true(heard[1][1] > token)
    assert.equal(0, one:wait(here.patience))
    assert(request:release())
    here:nothing_is_left()
  end)

  it("loses nothing when it takes turns with others like it", function()
    local programs, tokens = {}, {}
    for i = 1, 5 do programs[i] = start("0") end
    for i, one in ipairs(programs) do
      tokens[i] = assert(token_of(one), one:stderr())
      assert.equal(0, one:wait(here.patience), one:stderr())
    end
    table.sort(tokens)
    for i = 2, #tokens do assert.is_true(tokens[i] > tokens[i - 1]) end
    here:nothing_is_left()
  end)
end)
