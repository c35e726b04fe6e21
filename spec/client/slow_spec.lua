-- SPDX-License-Identifier: MIT
--- The option `slow`: a wait that takes long is a line of the log. #once

local fixture = require "spec.support.fixture"

describe("a slow wait #once", function()
  local here = fixture.new("/slow")
  local faulty, client, holder, path, patience, lines

  before_each(function()
    path, patience, lines = here.path, here.patience, {}
    faulty, holder = here:proxy(), here:connect { identifier = "db7:4242" }
    client = here:connect_to(faulty.hosts, { identifier = "waiter", log = function(level, line)
      if line:find("waiting for " .. path, 1, true) == 1 then lines[#lines + 1] = level .. ": " .. line end
    end })
  end)

  --- Plays a scene whose waits are slow after `slow` seconds, at a path of its own. If a wait was slow before the
  --- servers had answered what it asks, its line cannot say who holds: then the scene plays again, with more time.
  ---@param scene fun(slow: number): string? what it found that comes of too short a time
  local function in_time(scene)
    for attempt, slow in ipairs { 0.1, 1, 5, 25 } do
      path, lines = ("%s/%d"):format(here.path, attempt), {}
      local ok, err = pcall(scene, slow)
      local was_early = table.concat(lines):find("nobody is known to hold", 1, true) or ok and err
      if ok and not was_early then return end
      if not was_early or slow == 25 then error(err or table.concat(lines, "\n"), 0) end
      faulty:heal()
    end
  end

  --- The lines, once there are so many, without the seconds and the names of nodes.
  local function warned(n)
    here:eventually(function() return #lines >= n end, n .. " warnings")
    client:poll(0.3)
    assert.equal(n, #lines, table.concat(lines, "\n"))
    local plain = {}
    for i, line in ipairs(lines) do
      plain[i] = line:gsub("for [%d.]+ s:", "for N s:"):gsub("%([%w_-]+%)$", "(NODE)")
    end
    return plain
  end

  it("is one warning, which names the path and who holds", function()
    in_time(function(slow)
      assert(holder:mutex(path):acquire(patience))
      here:ask(client:mutex(path, { slow = slow }))
      assert.same({ ("warn: waiting for %s for N s: db7:4242 holds (NODE)"):format(path) }, warned(1))
      local name = here:nodes(path)[1]
      assert.is_truthy(lines[1]:find("(" .. name .. ")", 1, true))
      assert.is_true(tonumber(lines[1]:match("for ([%d.]+) s:")) >= slow)
    end)
  end)

  it("is no warning when it ends before", function()
    local held = holder:mutex(path)
    assert(held:acquire(patience))
    local lock = client:mutex(path, { slow = 3600 })
    assert.same({ nil, "timeout" }, { lock:acquire(0.05) })
    assert.same({}, warned(0))
  end)

  it("reads the first node once for all waiters, and again when another one holds", function()
    in_time(function(slow)
      local held = holder:mutex(path)
      assert(held:acquire(patience))
      local next_holder = here:connect { identifier = "db8:1" }
      next_holder:mutex(path):request(patience, function() end)
      here:becomes(2, path)
      local lock, kept = client:mutex(path, { slow = slow }), {}
      for i = 1, 10 do kept[i] = here:ask(lock) end
      here:becomes(12, path)
      faulty:reset()
      warned(10)
      kept[11] = here:ask(lock)
      warned(11)
      local first = here:nodes(path)[1]
      local function reads(of)
        local count = 0
        for _, request in ipairs(faulty:log()) do
          if request.op == "getData" and request.path == path .. "/" .. of then count = count + 1 end
        end
        return count
      end
      if reads(first) == 0 then return "it was read before the log began" end
      assert.is_true(reads(first) <= 2) -- a watch may be one of them
      assert(held:release())
      here:becomes(12, path)
      local second = here:nodes(path)[1]
      lines = {}
      kept[12] = here:ask(lock)
      assert.same({ ("warn: waiting for %s for N s: db8:1 holds (NODE)"):format(path) }, warned(1))
      assert.is_true(reads(second) <= 2) -- the waiter behind it watches it, too
      assert.equal(12, #kept)
    end)
  end)

  it("says that this client itself holds, and reads nothing", function()
    in_time(function(slow)
      local lock = client:mutex(path, { slow = slow })
      assert(lock:acquire(patience))
      assert(lock:release())
      assert(client:flush(patience))
      assert(lock:acquire(patience))
      local hot = client:mutex(path .. "/hot", { slow = slow, fair = false })
      assert(hot:acquire(patience))
      here:ask(lock)
      here:ask(hot)
      local found = warned(2)
      table.sort(found)
      assert.same({ ("warn: waiting for %s for N s: this client itself holds"):format(path),
        ("warn: waiting for %s/hot for N s: this client itself holds"):format(path) }, found)
    end)
  end)

  it("names the path of a multilock that is held, and of a semaphore", function()
    in_time(function(slow)
      assert(holder:mutex(path .. "/b"):acquire(patience))
      local lease = assert(holder:semaphore(path .. "/pool", 1):acquire(patience))
      here:ask(client:multilock({ path .. "/a", path .. "/b" }, { slow = slow }))
      here:ask(client:semaphore(path .. "/pool", 1, { slow = slow }))
      local found = warned(2)
      table.sort(found)
      assert.same({ ("warn: waiting for %s/b for N s: db7:4242 holds (NODE)"):format(path),
        ("warn: waiting for %s/pool for N s: db7:4242 holds (NODE)"):format(path) }, found)
      assert(lease:release())
    end)
  end)

  it("says that no server is in reach", function()
    assert(holder:mutex(path):acquire(patience))
    faulty:refuse()
    faulty:cut()
    here:eventually(function() return client:state() == "suspended" end)
    here:ask(client:mutex(path, { slow = 0.1 }))
    assert.same({ ("warn: waiting for %s for N s: no server is in reach"):format(path) }, warned(1))
  end)

  it("names the one who holds by then, in a line whose front has moved on unseen", function()
    in_time(function(slow)
      local held, got = holder:mutex(path), nil
      assert(held:acquire(patience))
      local second, third = here:connect { identifier = "db8:1" }, here:connect { identifier = "db9:1" }
      local kept = { second:mutex(path):request(patience, function(token) got = token end) }
      here:becomes(2, path)
      kept[2] = here:ask(third:mutex(path)) -- behind this one, the waiters hear of no other
      here:becomes(3, path)
      local lock = client:mutex(path, { slow = slow })
      kept[3], kept[4] = here:ask(lock), (here:ask(lock))
      here:becomes(5, path)
      assert(held:release())
      here:eventually(function() return got end)
      faulty:reset()
      local expected = ("warn: waiting for %s for N s: db8:1 holds (NODE)"):format(path)
      local found = warned(2)
      if found[1] ~= expected or found[2] ~= expected then return table.concat(found, "\n") end
      local lists = faulty:counts().getChildren2
      if lists > 1 then return lists .. " lists, of which one was for both waits" end
      assert.equal(4, #kept)
    end)
  end)

  it("says that the holder has no identifier", function()
    in_time(function(slow)
      local nameless = here:connect { identifier = "" }
      assert(nameless:mutex(path):acquire(patience))
      here:ask(client:mutex(path, { slow = slow }))
      local expected = ("warn: waiting for %s for N s: somebody without an identifier holds (NODE)"):format(path)
      assert.same({ expected }, warned(1))
    end)
  end)

  it("reads again for the next caller what could not be read", function()
    in_time(function(slow)
      assert(holder:mutex(path):acquire(patience))
      local lock = client:mutex(path, { slow = slow })
      faulty:cut_before("getData", 3) -- two of them set the watches of the waiter
      local kept = { (here:ask(lock)) }
      assert.is_truthy(warned(1)[1]:find("could not be read", 1, true))
      here:eventually(function() return client:state() == "connected" end)
      kept[2] = here:ask(lock)
      assert.same(("warn: waiting for %s for N s: db7:4242 holds (NODE)"):format(path), warned(2)[2])
      assert.equal(2, #kept)
    end)
  end)

  it("makes what is in the holder's node safe to show", function()
    in_time(function(slow)
      local evil = here:connect { identifier = ("\27[31m\nx"):rep(60) }
      assert(evil:mutex(path):acquire(patience))
      here:ask(client:mutex(path, { slow = slow }))
      here:eventually(function() return lines[1] end)
      assert.is_nil(lines[1]:find("[%c]"))
      assert.is_true(#lines[1] < 1200)
    end)
  end)

  it("warns without the holder's data when that cannot be read", function()
    in_time(function(slow)
      assert(holder:mutex(path):acquire(patience))
      local node = here:only_node(path)
      here:ask(client:mutex(path, { slow = slow }))
      here:becomes(2, path)
      faulty:cut_before("getData")
      here:eventually(function() return lines[1] end)
      assert.is_truthy(lines[1]:find("could not be read", 1, true) or lines[1]:find(node:match("[^/]+$"), 1, true))
    end)
  end)

  it("belongs to the path, and is above 0", function()
    client:mutex(path, { slow = 5 })
    for _, bad in ipairs { 0, -1, "1", 0 / 0, math.huge } do
      local ok, err = pcall(function() client:mutex(path .. "/x", { slow = bad }) end)
      assert.is_false(ok)
      assert.matches("bad argument 'options.slow': seconds > 0", err)
    end
    local held = client:mutex(path, { slow = 5 })
    assert(held:acquire(patience))
    assert.is_false((pcall(client.mutex, client, path, { slow = 6 })))
  end)
end)
