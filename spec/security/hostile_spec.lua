-- SPDX-License-Identifier: MIT
--- Directories that somebody has filled who wishes us ill: whatever he may think of, a client answers, leaves nothing
--- behind, and goes on. `make slow` has a thousand of them, with sanitizers and valgrind; a run says its seed.

local inspector = require "spec.support.inspector"
local server = require "spec.support.server"
local session = require "spec.support.session"
local zklock = require "zklock"

local PATIENCE = require("spec.support.wait").PATIENCE
local random = math.random

local ANSWERS = { timeout = true, ["wrong kind"] = true, ["access denied"] = true, ["too many"] = true }

local PREFIXES = {
  "", "x-", "_c_", "_c_00000000-0000-4000-8000-000000000000-", "_c_zzzzzzzz-0000-4000-8000-000000000000-",
  "0123456789abcdef0123456789abcdef", "_c_00000000-0000-4000-8000-00000000000", "-", "_", "\226\128\174", "%s%d%n",
}
local KINDS = {
  "lock-", "__lock__", "__READ__", "__WRIT__", "lease-", "read-", "__rlock__", "LOCK-", "", "lock-lock-",
  "__READ____WRIT__",
}
local NUMBERS = {
  "0000000000", "-000000001", "-0000000001", "2147483647", "-2147483648", "2147483648", "9999999999", "00000000001",
  "000000000", "", "0000000000 ", "00000000x0", "+000000001", "0000000\217\160",
}

local function one_of(list) return list[random(#list)] end

local function bytes(most)
  local list = {}
  for i = 1, random(0, most) do list[i] = string.char(random(0, 255)) end
  return table.concat(list)
end

describe("a hostile directory #once", function()
  local zk, attacker, client, unrelated, count, seen

  setup(function()
    zk = server.shared()
    attacker = inspector.connect(zk.hosts)
    attacker:add_auth("digest", server.SUPER)
    client = assert(zklock.connect(zk.hosts, { session_timeout = 60 }))
    unrelated = client:mutex("/hostile/unrelated")
    assert(unrelated:acquire(PATIENCE))
    count, seen = 0, {}
  end)

  teardown(function()
    client:close()
    attacker:delete_tree("/hostile")
    attacker:close()
  end)

  local function name()
    if #seen > 0 and random(4) == 1 then -- as one of ours, or nearly so
      local ours = one_of(seen)
      return random(2) == 1 and ours:sub(1, -11) .. one_of(NUMBERS) or ours:sub(1, random(#ours))
    end
    local middle = random(8) == 1 and ("n"):rep(random(2000)) or ""
    return one_of(PREFIXES) .. middle .. one_of(KINDS) .. one_of(NUMBERS)
  end

  local function fill(path)
    local made = {}
    for _ = 1, random(0, 25) do
      local at = ("%s/%s"):format(path, name())
      local data = random(5) == 1 and "__REVOKE__" or bytes(200)
      -- what the servers refuse (no name, a name that is taken) is not made
      made[#made + 1] = attacker:create(at, data, { sequence = random(3) == 1, ephemeral = random(3) == 1,
        acl = random(10) == 1 and "creator" or "open" })
    end
    if random(5) == 1 then
      attacker:create(path .. one_of { "/locks", "/leases" }, "x", { ephemeral = random(2) == 1 })
    end
    return made
  end

  local function answered(what, err)
    assert.is_true(ANSWERS[err] or tostring(err):find("^zookeeper: ") ~= nil, ("%s: %s"):format(what, tostring(err)))
  end

  local function try(what, lock, target, timeout)
    local hold, err = lock:acquire(timeout)
    if not hold then return answered(what, err) end
    for _, ours in ipairs(attacker:children(target) or {}) do seen[#seen % 50 + 1] = ours end
    if type(hold) == "table" then hold:release() else lock:release() end -- or it is lost by now
  end

  local function ask(what, lock)
    local list, err = lock:participants(PATIENCE)
    if not list then answered(what, err) end
    local asked, why = lock:revoke(PATIENCE)
    if asked == nil then answered(what, why) end
  end

  local function nothing_of_ours(path)
    assert.is_true(client:flush(PATIENCE))
    for _, below in ipairs { path, path .. "/locks", path .. "/leases" } do
      for _, child in ipairs(attacker:children(below) or {}) do
        local stat = attacker:exists(below .. "/" .. child)
        assert.is_false(stat ~= nil and session.same(stat.ephemeralOwner, client:session_id()), child)
      end
    end
  end

  local function visit()
    count = count + 1
    local path = ("/hostile/%d"):format(count)
    assert(attacker:create(path, "", { parents = true }))
    local kind = one_of { "mutex", "read", "write", "semaphore" }
    local target = path .. (kind == "semaphore" and one_of { "/locks", "/leases" } or "")
    if target ~= path then attacker:create(target, "") end
    local made = fill(target)
    local lock
    if kind == "mutex" then
      lock = client:mutex(path)
    elseif kind == "semaphore" then
      lock = client:semaphore(path, random(3))
    else
      lock = client:rwlock(path)[kind]
    end
    local function step(what)
      try(what, lock, target, 0)
      ask(what, lock)
      try(what, lock, target, 0.02)
    end
    step(kind)
    for _ = 1, random(0, #made) do attacker:delete(one_of(made)) end
    step(kind .. ", when some had gone")
    nothing_of_ours(path)
    assert.is_true(unrelated:is_held())
    assert.equal(1, client:stats().sessions)
    attacker:delete_tree(path)
  end

  local function visit_all(times)
    local seed = tonumber(os.getenv("SEED") or "") or os.time()
    math.randomseed(seed)
    for i = 1, times do
      local ok, err = xpcall(visit, debug.traceback)
      if not ok then error(("SEED=%d, directory %d: %s"):format(seed, i, tostring(err)), 0) end
    end
    local stats = client:stats()
    assert.same({ 0, 1 }, { stats.waiting, stats.held })
  end

  it("is answered, one of sixty", function() visit_all(60) end)
  it("is answered, one of a thousand #flood", function() visit_all(1000) end)
end)
