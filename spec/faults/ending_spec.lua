-- SPDX-License-Identifier: MIT
--- The end of a client with as many bytes of ephemeral nodes as it may have. The leader writes one transaction that
--- lists them all, and a server that starts again has to read it (bench/contest/ending.lua shows it with others).
--- #once

local fixture = require "spec.support.fixture"
local loop = require "spec.support.loop"
local server = require "spec.support.server"

local PATIENCE = require("spec.support.wait").PATIENCE
local BYTES = 900000

describe("a client with all the nodes that it may have #once", function()
  local here = fixture.new("/ending", { server = server.start })

  teardown(function() here.zk:stop() end)

  it("leaves a server that starts again when it is killed", function()
    local victim = here:worker()
    assert(victim:connect(here:hosts(), { session_timeout = 10, connect_timeout = PATIENCE }))
    local taken, err, why, bytes = victim:eval([[
      local below, patience = ...
      local taken, refusal, reason = 0, nil, nil
      local path = below .. ("/" .. ("x"):rep(200)):rep(3) .. "/"
      local client = worker.client
      local open, kept = 0, {}
      for i = 1, 5000 do
        open = open + 1
        kept[i] = client:mutex(path .. i):request(patience, function(token, err, _, why)
          open = open - 1
          if token then taken = taken + 1 else refusal, reason = err, why end
        end)
        if i % 100 == 0 then
          while open > 0 do client:poll(1) end
        end
        if refusal then break end
      end
      while open > 0 do client:poll(1) end
      return taken, refusal, reason, client:stats().node_bytes
    ]], here.path, PATIENCE)
    assert.equal("too big", err)
    assert.truthy(why:find("900000 (node_bytes)", 1, true), why)
    assert.is_true(taken > 1000, "it has taken " .. taken)
    assert.is_true(bytes <= BYTES and bytes > BYTES - 1000, "it has " .. bytes)
    victim:kill()
    assert(loop.poll(function() return here.zk:mntr().ephemerals_count == 0 end, PATIENCE, 0.05), "its session lives")

    here.zk:kill()
    server.start(here.zk)
    local client = here:connect()
    assert(client:mutex(here.path .. "/next"):acquire(PATIENCE))
  end)
end)
