-- SPDX-License-Identifier: MIT
--- docs/security.md and docs/internals/permissions.md: each cell of their tables, tried.

local inspector = require "spec.support.inspector"
local process = require "spec.support.process"
local server = require "spec.support.server"
local session = require "spec.support.session"
local session_password = require "spec.support.session_password"
local uv = require "luv"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local PERMS = { READ = 1, WRITE = 2, CREATE = 4, DELETE = 8, ADMIN = 16 }
local OLD = "before 3.8.4 and 3.9.2"
local OURS, THEIRS = "owner:secret", "neighbour:word"

--- The rows of the table of a page whose header begins so, as lists of cells, the header first.
local function table_of(page, first)
  local rows
  for line in io.lines(page) do
    local cells = {}
    for cell in line:gmatch("|%s*([^|]-)%s*%f[|]") do cells[#cells + 1] = cell end
    if cells[1] == first then rows = {} end
    if rows and #cells == 0 then break end
    if rows and not line:find("| ---", 1, true) then rows[#rows + 1] = cells end
  end
  return assert(rows, "no such table: " .. first)
end

describe("a neighbour #once", function()
  local zk, tree, neighbour, count, theirs, ours

  local function learn(credential)
    local one = inspector.connect(zk.hosts)
    one:add_auth("digest", credential)
    assert(one:create("/neighbour-probe", "", { acl = "creator" }))
    local entry = tree:get_acl("/neighbour-probe")[1]
    tree:delete("/neighbour-probe")
    one:close()
    return entry
  end

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    tree:add_auth("digest", server.SUPER)
    tree:delete_tree("/neighbour")
    assert(tree:create("/neighbour"))
    theirs, ours = learn(THEIRS), learn(OURS)
    neighbour = inspector.connect(zk.hosts)
    neighbour:add_auth("digest", THEIRS)
    count = 0
  end)

  teardown(function()
    tree:delete_tree("/neighbour")
    neighbour:close()
    tree:close()
  end)

  --- A lock in a directory that gives him so much, and one who holds it.
  local function scene(perms)
    count = count + 1
    local path, acl = ("/neighbour/%d"):format(count), { ours }
    if perms > 0 then acl[2] = { perms = perms, scheme = theirs.scheme, id = theirs.id } end
    assert(tree:create(path, "", { acl = acl }))
    local client = assert(zklock.connect(zk.hosts, {
      session_timeout = 30, auth = { scheme = "digest", credential = OURS },
    }))
    local lock, heard = client:mutex(path), {}
    lock:on_lost(function(err) heard[#heard + 1] = err end)
    lock:on_revoke(function() heard[#heard + 1] = "asked" end)
    assert(lock:acquire(PATIENCE))
    return { path = path, client = client, lock = lock, heard = heard, node = path .. "/" .. tree:children(path)[1] }
  end

  --- Does it as he is, else after he has given himself all, if he can.
  local function tries(at, what)
    local done, err = what()
    if done then return done end
    if not neighbour:set_acl(at.path, { ours, { perms = 31, scheme = theirs.scheme, id = theirs.id } }) then
      return done, err
    end
    return what()
  end

  local function hears(at, word)
    wait.eventually(function()
      at.client:poll(0.01)
      return at.heard[1] == word
    end, PATIENCE, word)
    return true
  end

  --- The holder must see an attack that succeeds; one that fails must leave it as it is.
  local attacks = {
    ["sees its nodes"] = function(at)
      return tries(at, function() return neighbour:children(at.path) end)
    end,
    ["keeps others out"] = function(at)
      assert.is_true(at.lock:release())
      assert.is_true(at.client:flush(PATIENCE))
      local made = tries(at, function() return neighbour:create(at.path .. "/x-lock--000000001", "") end)
      local token, err = at.lock:acquire(0)
      assert.equal(made and "timeout" or nil, err)
      if made then assert(tree:delete(at.path .. "/x-lock--000000001")) end
      if not token then assert(at.lock:acquire(PATIENCE)) end
      return made
    end,
    ["takes it away"] = function(at)
      return tries(at, function() return neighbour:delete(at.node) end) and hears(at, "lost")
    end,
    ["asks for it back"] = function(at)
      return tries(at, function() return neighbour:set(at.node, "__REVOKE__") end) and hears(at, "asked")
    end,
    ["passes it on"] = function(at) return neighbour:set_acl(at.path, { ours, theirs }) end,
    ["reads the session's id"] = function(at)
      local stat, err = tries(at, function() return neighbour:exists(at.node) end)
      if not stat then return false, assert.equal("NOAUTH", err) end
      return session.same(stat.ephemeralOwner, at.client:session_id())
    end,
    -- A server counts up: the holder's session is the one before that which somebody opens next.
    ["ends the session"] = function(at)
      local next_one = inspector.connect(zk.hosts)
      local id = ("0x%x"):format(math.tointeger(tonumber(next_one:session_id())) - 1)
      next_one:close()
      assert.is_true(session.same(id, at.client:session_id()))
      session.expire(zk.hosts, { id = id, passwd = session_password(id) })
      return hears(at, "lost")
    end,
  }

  local rows = table_of("docs/internals/permissions.md", "the neighbour may")
  for i = 2, #rows do
    local perms = 0
    for name in rows[i][1]:gmatch("%u+") do perms = perms + PERMS[name] end
    for column = 2, #rows[1] do
      local what, expected = rows[1][column], rows[i][column]
      it(("who may do %s: %s? %s"):format(rows[i][1], what, expected), function()
        if expected == OLD then expected = zk:exists_needs_read() and "no" or "yes" end
        local at = scene(perms)
        local done = assert(attacks[what], what)(at) and "yes" or "no"
        assert.equal(expected, done)
        if done == "no" then
          at.client:poll(0.05)
          assert.same({}, at.heard)
          assert.is_true(at.lock:is_held())
        end
        at.client:close()
      end)
    end
  end

  it("has all columns and eight rows tried", function()
    assert.equal(9, #rows)
    for column = 2, #rows[1] do assert.is_function(attacks[rows[1][column]]) end
    for i = 2, #rows do assert.equal(#rows[1], #rows[i]) end
  end)
end)

describe("on a client's machine #once", function()
  local child

  before_each(function()
    child = wait.spawn_lua [[
      SECRET = "a-credential-" .. "in-memory"
      print "ready"
      io.read()
    ]]
    assert.equal("ready", child:read_line(PATIENCE))
  end)

  after_each(function() child:kill() end)

  --- Each attack first succeeds against the attacker itself: then a failure means that the system refused it, not that
  --- a tool is missing. Commands: what every shell has built in, coreutils, grep and sed.
  local TOOL_FAILED, REFUSED = 3, 4
  local READ = [[
    reads() {
      range=$(sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) rw.*\[heap\]$/\1 \2/p' "/proc/$1/maps")
      [ -n "$range" ] || return 1
      from=0x${range% *} to=0x${range#* }
      dd "if=/proc/$1/mem" bs=4096 skip=$((from / 4096)) count=$(((to - from) / 4096)) 2>/dev/null |
        grep -q a-credential-in-memory
    }
    reads $$ || exit 3
    reads "$0" || exit 4
  ]]
  local END = [[
    sh -c 'kill -9 $$'
    [ $? -eq 137 ] || exit 3
    kill -9 "$0" || exit 4
  ]]

  local function succeeds(script)
    return function(as)
      local words = { "sh", "-c", script, tostring(child.pid), env = process.PLAIN }
      for i, word in ipairs(as) do table.insert(words, i, word) end
      local attack = process.spawn(words)
      local code = attack:wait(PATIENCE)
      assert.is_true(code == 0 or code == REFUSED, ("%s: %s"):format(
        code == TOOL_FAILED and "the attack's tools do not work" or "the attack did not run", attack:stderr()))
      return code == 0
    end
  end

  local attacks = { ["reads its credentials"] = succeeds(READ), ["ends its process"] = succeeds(END) }
  local users = {
    ["another user"] = { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups" },
    ["the same user"] = {},
  }

  local rows = table_of("docs/security.md", "the attacker is")
  for i = 2, #rows do
    for column = 2, #rows[1] do
      local who, what, expected = rows[i][1], rows[1][column], rows[i][column]
      local tag = what:find("credentials") and " #bare" or "" -- a sanitizer's memory is not the client's
      it(("%s: %s? %s%s"):format(who, what, expected, tag), function()
        if #users[who] > 0 and uv.getuid() ~= 0 then return pending("only root can be somebody else") end
        assert.equal(expected, attacks[what](users[who]) and "yes" or "no")
      end)
    end
  end
end)
