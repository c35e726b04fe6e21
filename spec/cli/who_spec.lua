-- SPDX-License-Identifier: MIT
--- who and revoke: what is in a line, for people and for programs.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local hidden = require "spec.support.hidden"
local port = require "spec.support.port"
local process = require "spec.support.process"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

local USAGE, BUSY, UNAVAILABLE, DENIED = 64, 1, 69, 77
local COLUMNS = { "path", "node", "kind", "state", "identifier", "session", "token", "created", "age" }

-- Python's reading, one `TYPE VALUE` a line for each column of each row; a text as the hexadecimals of its UTF-8.
local READER = [[
import json, sys
text = sys.stdin.buffer.read().decode("utf-8")
rows = [json.loads(line) for line in text.splitlines()] if sys.argv[1] == "lines" else json.loads(text)["who"]
if sys.argv[1] != "lines": assert list(json.loads(text)) == ["who"]
for row in rows:
    assert list(row) == sys.argv[2].split(), list(row)
    shown = [v.encode().hex() if isinstance(v, str) else repr(v) for v in row.values()]
    print(" ".join(type(v).__name__ + ":" + s for v, s in zip(row.values(), shown)))
]]

--- The rows, as Python reads them.
local function decode(json, form)
  local python = process.spawn { "python3", "-c", READER, form or "whole", table.concat(COLUMNS, " "),
    env = process.PLAIN }
  python.input:write(json)
  python.input:shutdown()
  assert(python:wait() == 0, python:stderr())
  local rows = {}
  for line in python:stdout():gmatch("[^\n]+") do
    local row, i = {}, 0
    for kind, value in line:gmatch("(%a+):(%S*)") do
      i = i + 1
      if kind == "str" then
        row[COLUMNS[i]] = value:gsub("%x%x", function(x) return string.char(tonumber(x, 16)) end)
      else
        assert(kind == "float" or kind == "int", kind)
        row[COLUMNS[i]] = tonumber(value)
      end
    end
    rows[#rows + 1] = row
  end
  return rows
end

describe("zklock who #once", function()
  local here = fixture.new("/cli-who", { super = true })

  local function zklock(...)
    return command.run { env = { ZKLOCK_SERVERS = here.zk.hosts }, ... }
  end

  local function rows_of(...)
    local ended = zklock("who", "--json", ...)
    assert.same({ 0, "" }, { ended.code, ended.err })
    return decode(ended.out)
  end

  --- The values of each row in these columns.
  local function columns(rows, ...)
    local list = {}
    for i, row in ipairs(rows) do
      local words = {}
      for _, name in ipairs { ... } do words[#words + 1] = row[name] end
      list[i] = table.concat(words, " ")
    end
    return list
  end

  local function hold(path, identifier)
    local client = here:connect { identifier = identifier }
    local lock = client:mutex(path)
    assert(lock:acquire(here.patience))
    return lock, client
  end

  it("shows who holds and who waits, with all columns", function()
    local before = os.time()
    local lock, client = hold(here.path, "one")
    local second = here:connect { identifier = "two" }
    here:ask(second:mutex(here.path))
    here:becomes(2)
    local rows = rows_of(here.path)
    assert.same({ "lock holds one", "lock waits two" }, columns(rows, "kind", "state", "identifier"))
    local first = rows[1]
    assert.same({ here.path, client:session_id(), ("%d"):format(lock:token()) },
      { first.path, first.session, first.token })
    assert.equal(lock:nodes()[1], first.path .. "/" .. first.node)
    assert.is_true(first.created >= before - 1 and first.created <= os.time() + 1)
    assert.is_true(first.age >= 0 and first.age <= os.time() + 1 - before)
    assert.equal(second:session_id(), rows[2].session)
  end)

  it("shows a table to people", function()
    local lock = hold(here.path, "me")
    local ended = zklock("who", here.path)
    assert.equal(0, ended.code)
    local head, row = ended.out:match("^([^\n]+)\n([^\n]+)\n$")
    assert.equal("PATH NODE KIND STATE IDENTIFIER SESSION TOKEN CREATED AGE", (head:gsub("%s+", " "):gsub(" $", "")))
    local pattern = "^%s +_c_%%S+ +lock +holds +me +0x%%x+ +%d +%%d+%%-%%d+%%-%%d+T%%d+:%%d+:%%d+Z +%%d+s%%s*$"
    assert.matches(pattern:format((here.path:gsub("%-", "%%-")), lock:token()), row)
  end)

  it("says of each that waits behind whom, to people", function()
    hold(here.path, "one")
    local second, third = here:connect { identifier = "two" }, here:connect { identifier = "three" }
    here:ask(second:mutex(here.path))
    here:becomes(2)
    here:ask(third:mutex(here.path))
    here:becomes(3)
    local out = zklock("who", here.path).out
    assert.matches("\ntwo: number 2 of 3, behind one, which holds, and came %d+s ago\n"
      .. "three: number 3 of 3, behind two, which waits, and came %d+s ago\n$", out)
    assert.is_nil(zklock("who", "-r", here.path).out:find("behind", 1, true))
  end)

  it("says who takes leases, and behind which writer a reader waits", function()
    local client, other = here:connect { identifier = "a" }, here:connect { identifier = "b" }
    local rw, pool = here.path .. "/rw", here.path .. "/pool"
    assert(client:rwlock(rw).read:acquire(here.patience))
    here:ask(other:rwlock(rw).write)
    here:becomes(2, rw)
    here:ask(client:rwlock(rw).read)
    here:becomes(3, rw)
    assert.matches("\nb: number 2 of 3, behind a, which holds, and came %d+s ago\n"
      .. "a: number 2 of 3, behind b, which waits, and came %d+s ago\n$", zklock("who", rw).out)
    local lease = assert(client:semaphore(pool, 1):acquire(here.patience))
    here:ask(other:semaphore(pool, 1))
    here:becomes(2, pool .. "/leases")
    assert.matches("\nb: first, and waits for a lease since %d+s\n$", zklock("who", pool).out)
    lease:release()
  end)

  it("shows an empty list, and exits 0, if nobody is there or there is no such node", function()
    for _, path in ipairs { here.path, here.path .. "/none/at/all" } do
      assert.same({}, rows_of(path))
      assert.same({ code = 0, err = "" }, { code = zklock("who", path).code, err = zklock("who", path).err })
    end
  end)

  it("shows readers and writers, leases and who waits for them", function()
    local client, other = here:connect { identifier = "a" }, here:connect { identifier = "b" }
    local rw = client:rwlock(here.path .. "/rw")
    assert(rw.read:acquire(here.patience))
    here:ask(other:rwlock(here.path .. "/rw").write)
    here:becomes(2, here.path .. "/rw")
    assert.same({ "read holds a", "write waits b" },
      columns(rows_of(here.path .. "/rw"), "kind", "state", "identifier"))
    local path = here.path .. "/pool"
    local lease = assert(client:semaphore(path, 1):acquire(here.patience))
    here:ask(other:semaphore(path, 1))
    here:becomes(1, path .. "/locks")
    here:becomes(2, path .. "/leases") -- b's is of no use until a's is gone
    assert.same({ path .. "/leases lease holds a", path .. "/leases lease waits b", path .. "/locks lock waits b" },
      columns(rows_of(path), "path", "kind", "state", "identifier"))
    lease:release()
  end)

  it("shows the holder of a mutex whose name is that of a semaphore's gate", function()
    hold(here.path .. "/locks", "me")
    assert.same({ here.path .. "/locks holds" }, columns(rows_of("-r", here.path), "path", "state"))
    assert.same({ here.path .. "/locks holds" }, columns(rows_of(here.path .. "/locks"), "path", "state"))
  end)

  describe("with identifiers of strangers", function()
    local STRANGE = {
      { "\27[2J\27]0;title\7", [[\x1b[2J\x1b]0;title\x07]] }, { "a\255b\192\128", [[a\xffb\xc0\x80]] },
      { "\226\128\174evil", [[\xe2\x80\xaeevil]] }, { "", "" }, { '"quoted\\"', [["quoted\"]] },
      { "line\nline\0", [[line\x0aline\x00]] }, { "größe", "größe" }, { "\194\155x", [[\xc2\x9bx]] },
      { "\224\128\175\237\160\128", [[\xe0\x80\xaf\xed\xa0\x80]] },
      { "\244\144\128\128", [[\xf4\x90\x80\x80]] }, { "\226\130", [[\xe2\x82]] },
      { hidden.raw, hidden.spelled },
    }

    before_each(function()
      for i, case in ipairs(STRANGE) do
        assert(here.tree:create(("%s/lock-%010d"):format(here.path, i), case[1], { parents = true }))
      end
    end)

    it("writes JSON that Python reads", function()
      local rows = rows_of(here.path)
      for i, case in ipairs(STRANGE) do assert.equal(case[2], rows[i].identifier) end
    end)

    it("lets no control character come to a terminal", function()
      for _, locale in ipairs { "C", "C.UTF-8" } do
        local out = command.run { "who", here.path, env = { ZKLOCK_SERVERS = here.zk.hosts, LC_ALL = locale } }.out
        assert.falsy(out:find("[%z\1-\9\11-\31\127]"))
        for _, case in ipairs(STRANGE) do
          local shown = case[2]
          if locale == "C" then
            shown = shown:gsub("[\128-\255]", function(c) return ("\\x%02x"):format(c:byte()) end)
          end
          assert.truthy(out:find(shown, 1, true), out)
        end
        assert.falsy(out:find("\226\128\174", 1, true))
        assert.falsy(out:find("\194\155", 1, true))
        assert.falsy(locale == "C" and out:find("[\128-\255]"))
      end
    end)

    it("writes numbers with a point, whatever the locale", function()
      local out = command.run { "who", "--json", here.path,
        env = { ZKLOCK_SERVERS = here.zk.hosts, LC_ALL = "de_DE.UTF-8" } }.out
      assert.matches('"created": %d+%.%d%d%d, "age": %d+%.%d%d%d}', out)
    end)
  end)

  describe("-r", function()
    it("shows all lines below a path, sorted", function()
      for _, name in ipairs { "/b", "/a/b/c", "", "/a" } do hold(here.path .. name, "at " .. name) end
      assert.same({ "at ", "at /a", "at /a/b/c", "at /b" }, columns(rows_of("-r", here.path), "identifier"))
      assert.same({ "at " }, columns(rows_of(here.path), "identifier"))
      local all = zklock("who", "-r", "--json", "/") -- it warns of what other specs have left shut on this server
      assert.same({ 0, true }, { all.code, #decode(all.out) >= 4 }, all.err)
    end)

    it("says that it was cut short at a depth of 8", function()
      hold(here.path .. "/1/2/3/4/5/6/7/8", "deep")
      hold(here.path .. "/1/2/3/4/5/6/7/x/9", "deeper")
      local ended = zklock("who", "-r", "--json", here.path)
      assert.equal("zklock: warning: cut short at a depth of 8: there is more below\n", ended.err)
      assert.same({ "deep" }, columns(decode(ended.out), "identifier"))
      assert.equal(0, ended.code)
    end)

    it("sends no more than 10,000 requests, and says that it was cut short", function()
      local paths = {}
      for i = 1, 10100 do paths[i] = ("%s/%05d"):format(here.path, i) end
      assert(here.tree:create(here.path, "", { parents = true }))
      assert(here.tree:create_all(paths))
      assert(here.tree:create(here.path .. "/00001/lock-0000000001", "me"))
      local faulty = here:proxy()
      local ended = command.run { patience = 5 * here.patience, "who", "-z", faulty.hosts, "-r", "--json", here.path }
      local counts = faulty:counts()
      assert.equal("zklock: warning: cut short after 10000 requests: there is more\n", ended.err)
      local sent = counts.total - counts.sync - counts.delete - counts.closeSession -- the former two are heartbeats
      assert.same({ 0, 10000 }, { ended.code, sent })
      here.tree:delete_tree(here.path)
    end)

    it("passes over what may not be read, and says so", function()
      local closed = { { perms = 31, scheme = "digest", id = "nobody:x" } }
      assert(here.tree:create(here.path .. "/shut", "", { parents = true, acl = closed }))
      hold(here.path .. "/open", "me")
      local ended = zklock("who", "-r", "--json", here.path)
      assert.equal("zklock: warning: access denied: 1 directories were passed over\n", ended.err)
      assert.same({ "me" }, columns(decode(ended.out), "identifier"))
      ended = zklock("who", here.path .. "/shut")
      assert.same({ DENIED, "zklock: access denied: " .. here.path .. "/shut\n" }, { ended.code, ended.err })
    end)
  end)

  describe("-f", function()
    local function follow(...)
      local one = command.start { "who", "-f", "--json", env = { ZKLOCK_SERVERS = here.zk.hosts }, ... }
      return here:closes(one, one.kill)
    end

    local function reads(one)
      local row = decode(assert(one:read_line()) .. "\n", "lines")[1]
      return row.identifier .. " " .. row.state
    end

    it("shows each change, one object a line", function()
      local lock = hold(here.path, "first")
      local one = follow(here.path)
      assert.equal("first holds", reads(one))
      local second = here:connect { identifier = "second" }
      local _, heard = here:ask(second:mutex(here.path))
      assert.equal("second waits", reads(one))
      lock:release()
      here:hear(heard)
      assert.same({ "first gone", "second holds" }, { reads(one), reads(one) })
    end)

    it("hears of a lock that is not there yet, and of a semaphore's leases", function()
      local one = follow(here.path)
      local lease = assert(here:connect { identifier = "me" }:semaphore(here.path, 1):acquire(here.patience))
      local seen = reads(one)
      while seen ~= "me holds" do seen = reads(one) end
      lease:release()
      assert.equal("me gone", reads(one))
    end)

    it("shows the changes of all lines below with -r", function()
      local one = follow("-r", here.path)
      hold(here.path .. "/a", "deep")
      assert.equal("deep holds", reads(one))
    end)

    --- One that shows a held lock, through a proxy, and has set its watches.
    local function rests()
      hold(here.path, "me")
      local faulty = here:proxy()
      local one = follow("-z", faulty.hosts, here.path)
      assert.equal("me holds", reads(one))
      wait.eventually(function()
        faulty:reset()
        assert.is_nil((one:read_line(1.5)))
        for _, entry in ipairs(faulty:log()) do
          if (entry.path or ""):find(here.path, 1, true) then return false, entry.op end -- no heartbeat
        end
        return true
      end, wait.PATIENCE, "a time without a question about the lock")
      return one, faulty
    end

    it("asks for nothing while nothing changes", function() rests() end)

    it("does not read the line when the client has looked at it again in turn #long", function()
      local one, faulty = rests()
      wait.eventually(function() return faulty:counts().getChildren2 > 0 end, 2 * wait.PATIENCE, "a look in turn")
      assert.is_nil((one:read_line(1.5)))
      assert.equal(0, faulty:counts().getData)
    end)

    it("ends when its reader has gone", function()
      hold(here.path, "me")
      local shell = process.spawn { "sh", "-c",
        ("%s who -f -z %s %s | head -n 1"):format(command.PROGRAM, here.zk.hosts, here.path),
        env = { LD_PRELOAD = false, ZKLOCK_CONFIG = "/dev/null" } }
      assert.matches("^PATH", shell:read_line())
      here:ask(here:connect():mutex(here.path))
      here:becomes(2)
      assert.equal(0, shell:wait())
    end)
  end)

  it("ends with 69 if there is no server", function()
    local one = server.start()
    one:kill()
    local ended = command.run { "who", "/x", "-z", one.hosts, "--connect", "3" }
    assert.same({ UNAVAILABLE, "" }, { ended.code, ended.out })
    assert.matches("^zklock: disconnected: no session within 3 s: connection refused", ended.err)
    one:stop()
  end)

  it("ends with 64 for what it does not know", function()
    for _, words in ipairs { {}, { "x" }, { "/a", "/b" }, { "--yaml", "/a" } } do
      assert.equal(USAGE, zklock("who", unpack(words)).code)
    end
  end)

  describe("and check", function()
    it("ends with 0 if the holder has this token, and with 1 if not", function()
      local client = here:connect()
      local lock, pool = client:mutex(here.path .. "/mutex"), client:semaphore(here.path .. "/pool", 2)
      local token, lease = assert(lock:acquire(here.patience)), assert(pool:acquire(here.patience))
      for _, held in ipairs { { "/mutex", token }, { "/pool", lease:token() } } do
        local text = ("%d"):format(held[2])
        assert.same({ code = 0, out = "", err = "" }, zklock("check", here.path .. held[1], text))
        assert.same({ code = 0, out = "", err = "" }, zklock("check", "-w", "1m", here.path .. held[1], text))
        assert.same({ code = BUSY, out = "", err = "" }, zklock("check", here.path .. held[1], text .. "0"))
      end
      lock:release()
      lease:release()
      assert(client:flush(here.patience))
      assert.equal(BUSY, zklock("check", here.path .. "/mutex", ("%d"):format(token)).code)
      assert.equal(BUSY, zklock("check", here.path .. "/none", "17").code)
    end)

    it("ends with 64 for a bad token or path", function()
      for _, token in ipairs { "", "x", "1.5", "0x11", "9223372036854775808", "17 " } do
        assert.same({ code = USAGE, out = "", err = "zklock: bad argument 'TOKEN': integer from 0 to "
          .. "9223372036854775807 expected, got '" .. token .. "'\n" }, zklock("check", here.path, token))
      end
      for _, words in ipairs { {}, { here.path }, { "x", "17" }, { "/", "17" }, { here.path, "17", "18" },
        { here.path, "-17" }, { "-w", "0", here.path, "17" } } do
        assert.equal(USAGE, zklock("check", unpack(words)).code)
      end
    end)

    it("ends with 77 if an ACL forbids it, and with 69 without a server", function()
      local closed = { { perms = 4, scheme = "world", id = "anyone" } }
      assert(here.tree:create(here.path, "", { parents = true, acl = closed }))
      assert.same({ code = DENIED, out = "", err = "zklock: access denied: " .. here.path .. "\n" },
        zklock("check", here.path, "17"))
      local nobody = "127.0.0.1:" .. port.free()
      local ended = command.run { "check", "-z", nobody, "-w", "3", here.path, "17" }
      assert.same({ UNAVAILABLE, "" }, { ended.code, ended.out })
      assert.matches("^zklock: disconnected: no session within 3 s: connection refused", ended.err)
    end)

    it("ends with 70 if there are too many children", function()
      local paths = {}
      for i = 1, 20001 do paths[i] = ("%s/x%d"):format(here.path, i) end
      assert(here.tree:create(here.path, "", { parents = true }))
      here.tree:create_all(paths)
      assert.same({ code = 70, out = "", err = "zklock: too many: " .. here.path .. "\n" },
        zklock("check", here.path, "17"))
    end)
  end)

  describe("and revoke", function()
    it("asks the holders to give it back", function()
      for _, make in ipairs {
        function(client, path) return client:mutex(path) end,
        function(client, path) return client:rwlock(path).read end,
      } do
        local client = here:connect()
        local lock = make(client, here.path)
        assert(lock:acquire(here.patience))
        local heard, note = here.notes()
        lock:on_revoke(note)
        assert.same({ code = 0, out = "", err = "" }, zklock("revoke", here.path))
        here:hear(heard)
        lock:release()
        client:flush(here.patience)
      end
    end)

    it("asks the holders of leases", function()
      local client = here:connect()
      local pool = client:semaphore(here.path, 2)
      local lease = assert(pool:acquire(here.patience))
      local heard, note = here.notes()
      pool:on_revoke(note)
      assert.equal(0, zklock("revoke", here.path).code)
      here:hear(heard)
      lease:release()
    end)

    it("ends with 1 if nobody holds", function()
      assert.same({ code = BUSY, out = "", err = "zklock: nobody holds " .. here.path .. "\n" },
        zklock("revoke", here.path))
    end)

    it("ends with 77 if an ACL forbids it, and with 64 for a bad path", function()
      local closed = { { perms = 1, scheme = "world", id = "anyone" } }
      assert(here.tree:create(here.path .. "/lock-0000000001", "me", { parents = true, acl = closed }))
      assert.same({ code = DENIED, out = "", err = "zklock: access denied: " .. here.path .. "\n" },
        zklock("revoke", here.path))
      assert.equal(USAGE, zklock("revoke", "/").code)
    end)
  end)
end)
