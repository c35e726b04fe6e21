-- SPDX-License-Identifier: MIT
--- `make contest`: it sees what a lock is worth. With those peers only that need no servers of others.

if _VERSION ~= "Lua 5.4" then return end -- which the contest is written for

local cost = require "bench.contest.cost"
local crew = require "bench.contest.crew"
local peers = require "bench.contest.peers"
local plays = require "bench.contest.plays"
local servers = require "bench.contest.servers"
local text = require "bench.contest.text"
local truth = require "bench.contest.truth"
local process = require "spec.support.process"
local uv = require "luv"
local write_file = require("spec.support.file").write

local function scenario(id)
  for _, one in ipairs(truth.scenarios) do
    if one.id == id then return one end
  end
end

local function crowd_of(id)
  local peer = peers.get(id)
  local server = servers.start(peer.family)
  local result = cost.crowd(peer, server, 4, 400)
  server:stop()
  assert.equal(0, result.failures)
  assert.is_true(result.count > 0)
  return result
end

describe("the contest #once", function()
  it("sees one that does not lock oversell, and be held by two at once", function()
    assert.is_true(truth.play_calm(peers.broken).oversold > 0)
    assert.is_true(crowd_of("broken").overlaps > 0)
  end)

  it("leaves alone what another MariaDB has in the temporary folder", function()
    local look = "command -v mariadbd mariadb-install-db mariadb"
    if process.spawn({ "sh", "-c", look, env = process.PLAIN }):wait() ~= 0 then
      return pending("MariaDB is installed by make contest only")
    end
    local theirs = {}
    for i, name in ipairs { "#sql-%d-1.frm", "#sql_%d_0.MAI" } do
      theirs[i] = uv.os_tmpdir() .. "/" .. name:format(uv.os_getpid())
      write_file(theirs[i], "")
    end
    servers.start("mariadb"):stop()
    for i, name in ipairs(theirs) do theirs[i] = os.remove(name) end
    assert.same({ true, true }, theirs)
  end)

  for _, id in ipairs { "flock", "zklock" } do
    it("sees " .. id .. " sell each item once, and be held by one at a time", function()
      local sale = truth.play_calm(peers.get(id))
      assert.same({ 100, 0, 0 }, { sale.sold, sale.oversold, sale.stuck })
      assert.equal(0, crowd_of(id).overlaps)
    end)
  end

  it("stops a holder of zklock past its expiry: the next goes on, it is told, and its write refused", function()
    local sale = truth.play(peers.get "zklock", scenario "stopped")
    assert.is_nil(sale.failed)
    assert.is_number(sale.next)
    assert.same({ 0, "no", "refused", true }, { sale.oversold, sale.sure, sale.verdict, sale.alive })
  end)

  it("kills a holder of flock, and the next goes on", function()
    local sale = truth.play(peers.get "flock", scenario "killed")
    assert.is_nil(sale.failed)
    assert.is_number(sale.next)
  end)

  it("says of a sale that was played several times in how many it went wrong", function()
    local good = { oversold = 0, next = 2.5, sure = "no", verdict = "refused", alive = true }
    local bad = { oversold = 3, next = 2.9, sure = "yes", verdict = "taken", alive = true }
    local kept = { oversold = 0, next = false, sure = "yes", alive = true }
    local failed = { failed = "bench/servers.lua:47: no server" }
    assert.equal("0, 2.5 s, told, write refused", plays.cell("cut", { good, failed, good }))
    assert.equal("**sold 3 too many in 1 of 2**, 2.5 s, told in 1 of 2, write refused in 1 of 2",
      plays.cell("stopped", { bad, good }))
    assert.equal("0, kept", plays.cell("leader", { kept, kept }))
    assert.equal("0, waits for the holder", plays.cell("stopped", { kept }))
    assert.equal("**sold 3 too many**", plays.cell("calm", { bad }))
    assert.equal("failed: no server", plays.cell("cut", { failed, failed }))
    assert.equal("", plays.cell("cut", nil))
    assert.is_nil(plays.always({ failed }, function() return true end))
  end)

  it("counts who was granted while another held", function()
    local function hold(granted, releasing) return { granted = granted, releasing = releasing } end
    assert.equal(0, crew.overlaps { hold(1, 5), hold(5, 6), hold(7, 9) })
    assert.equal(2, crew.overlaps { hold(1, 8), hold(5, 6), hold(7, 9) })
  end)

  it("has a program and a manual for each who takes part, or says why not", function()
    for _, peer in ipairs(peers.list) do
      assert.is_string(peer.absent or peer.program)
      assert.is_truthy(peer.manual:find("^https://") or peer.manual == "api.md")
    end
  end)

  it("wraps what it writes, but no table", function()
    local row, word = "| " .. ("cell "):rep(40) .. "|", ("x"):rep(40)
    local long = word .. " " .. word .. " " .. word
    assert.equal(word .. " " .. word .. "\n" .. word, text.wrap(long))
    assert.equal("- " .. word .. " " .. word .. "\n  " .. word, text.wrap("- " .. long))
    assert.equal(row .. "\n\nshort\n", text.wrap(row .. "\n\n\n\nshort\n"))
    assert.equal(word:rep(3), text.wrap(word:rep(3)))
  end)

  it("prints tables whose rows may be short", function()
    assert.equal("a   b\ncc", (text.plain({ "a", "b" }, { { "**cc**" } })))
    assert.equal("| a | b |\n| --- | --- |\n| c |  |", text.markdown({ "a", "b" }, { { "c" } }))
  end)
end)
