-- SPDX-License-Identifier: MIT
--- set, create, delete and ls.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"

local USAGE, DATA, NO_NODE, NODE_EXISTS, LOST, UNKNOWN, DENIED = 64, 65, 66, 73, 75, 76, 77
local unpack = unpack or table.unpack -- luacheck: ignore 143

local DONE = { code = 0, out = "", err = "" }

describe("zklock #once", function()
  local here = fixture.new("/cli-nodes")
  local path

  --- Runs it against the server; one line is complained of unless it went well.
  local function zklock(...)
    local ended = command.run { env = { ZKLOCK_SERVERS = here.zk.hosts }, ... }
    if ended.code ~= 0 then assert.matches("^zklock: [^\n]+\n$", ended.err) end
    return ended
  end

  local function complains(code, text, ...)
    local ended = zklock(...)
    assert.same({ code, "" }, { ended.code, ended.out })
    assert.truthy(ended.err:find(text, 1, true), ended.err)
  end

  before_each(function()
    path = here.path
    assert(here.tree:create(path, "old", { parents = true }))
  end)

  --- A lock's nodes, as `zklock run` gives them to its command; and the lock.
  local function held(n)
    local client, paths = here:connect(), {}
    for i = 1, n or 1 do paths[i] = path .. "-lock-of-" .. i end
    local lock = client:multilock(paths)
    assert(lock:acquire(here.patience))
    return table.concat(lock:nodes(), "\n"), lock
  end

  describe("set", function()
    it("writes a node's data", function()
      assert.same(DONE, zklock("set", path, "new"))
      assert.equal("new", here.tree:get(path))
      assert.same(DONE, zklock("set", path, ""))
      assert.equal("", here.tree:get(path))
      assert.same(DONE, zklock("set", path, "--", "-5"))
      assert.equal("-5", here.tree:get(path))
    end)

    it("writes what standard input has, byte by byte", function()
      local data = "\0\255\n" .. ("x"):rep(300000) .. "\n"
      assert.same(DONE, command.run { "set", "--stdin", path, "-z", here.zk.hosts, input = data })
      assert.equal(data, (here.tree:get(path)))
    end)

    it("writes only to the version that it is given", function()
      assert.same(DONE, zklock("set", "-v", "0", path, "one"))
      complains(DATA, "bad version: " .. path, "set", "--if-version", "0", path, "two")
      assert.equal("one", here.tree:get(path))
    end)

    it("ends with 66 if there is no node, and with 65 if the data is too big", function()
      complains(NO_NODE, "no node: " .. path .. "/none", "set", path .. "/none", "x")
      local ended = command.run { "set", "--stdin", path, "-z", here.zk.hosts, input = ("x"):rep(1100000) }
      assert.same({ code = DATA, out = "", err = "zklock: too big: " .. path .. "\n" }, ended)
    end)

    it("ends with 76 if nobody can say whether it was done, guarded or not", function()
      for op, more in pairs { setData = {}, multi = { "--guard", (held()) } } do
        local way = here:proxy()
        way:lose_reply(op)
        complains(UNKNOWN, "unknown: " .. path, "set", path, "new", "-z", way.hosts, unpack(more))
        assert.equal("new", here.tree:get(path))
      end
    end)

    it("ends with 64 and names the argument that is wrong", function()
      complains(USAGE, "'set': PATH VALUE expected, got 1 argument", "set", path)
      complains(USAGE, "'set': PATH expected, got 2 arguments", "set", "--stdin", path, "x")
      complains(USAGE, "'-v': integer from 0 to 2147483647 expected, got '-1'", "set", "-v", "-1", path, "x")
      complains(USAGE, "'--if-version': integer from 0", "set", "--if-version", "2147483648", path, "x")
      complains(USAGE, "/zookeeper is reserved", "set", "/zookeeper/quota", "x")
    end)
  end)

  describe("create", function()
    it("makes a node, with data or without", function()
      assert.same(DONE, zklock("create", path .. "/a"))
      assert.same(DONE, zklock("create", path .. "/b", "data"))
      assert.same(DONE, command.run { "create", "--stdin", path .. "/c", "-z", here.zk.hosts, input = "in" })
      local found = {}
      for _, name in ipairs { "a", "b", "c" } do found[#found + 1] = here.tree:get(path .. "/" .. name) end
      assert.same({ "", "data", "in" }, found)
    end)

    it("writes the path of a sequential node to standard output", function()
      assert.same({ code = 0, out = path .. "/n-0000000000\n", err = "" }, zklock("create", "-s", path .. "/n-"))
      assert.equal(path .. "/n-0000000001\n", zklock("create", "--sequential", path .. "/n-", "--guard", (held())).out)
    end)

    it("makes the parents", function()
      assert.same(DONE, zklock("create", "-p", path .. "/a/b/c"))
      assert.truthy(here.tree:exists(path .. "/a/b/c"))
      complains(NO_NODE, "no node: " .. path .. "/x/y", "create", path .. "/x/y")
    end)

    it("ends with 73 if the node is there", function()
      complains(NODE_EXISTS, "node exists: " .. path, "create", path)
    end)

    it("gives the node the ACL of the configuration", function()
      local config = folder.file("zklock.conf", "auth digest me:secret\n")
      assert(require("luv").fs_chmod(config, 384))
      assert.same(DONE, zklock("create", "--config", config, path .. "/mine", "secret"))
      complains(DENIED, "access denied: " .. path .. "/mine", "get", path .. "/mine")
      local shows = folder.file("shows.conf", "auth digest me:secret\nacl read\n")
      assert(require("luv").fs_chmod(shows, 384))
      assert.same(DONE, zklock("create", "--config", shows, path .. "/shown", "text"))
      assert.equal("text", zklock("get", path .. "/shown").out)
      complains(DENIED, "access denied", "set", path .. "/shown", "x")
    end)

    it("refuses what one transaction cannot do", function()
      complains(USAGE, "'--parents': it cannot be done together with --guard", "create", "-p", path .. "/x", "--guard",
        (held()))
    end)

    it("refuses a name that a lock's node could have", function()
      complains(USAGE, "could be the name of a lock's node", "create", path .. "/x-lock-0000000000")
      complains(USAGE, "could be the name of a lock's node", "create", "-s", path .. "/x-lock-")
    end)
  end)

  describe("delete", function()
    it("deletes a node that has no children", function()
      assert(here.tree:create(path .. "/a", ""))
      complains(DATA, "not empty: " .. path, "delete", path)
      assert.same(DONE, zklock("delete", path .. "/a"))
      complains(DATA, "bad version", "delete", "-v", "7", path)
      complains(USAGE, "'--stdin'", "delete", "--stdin", path)
      assert.same(DONE, zklock("delete", "-v", "0", path))
      complains(NO_NODE, "no node: " .. path, "delete", path)
    end)
  end)

  describe("--guard", function()
    local function writes(nodes)
      return { { "set", path, "new", "--guard", nodes }, { "create", path .. "/made", "x", "--guard", nodes },
        { "delete", path .. "/made", "--guard", nodes } }
    end

    for n = 1, 3, 2 do
      it(("lets a write through while %d lock nodes are there, and ends with 75 after"):format(n), function()
        local nodes, lock = held(n)
        local list = writes(nodes)
        for _, words in ipairs(list) do assert.same(DONE, zklock(unpack(words))) end
        assert(lock:release())
        here.tree:set(path, "other")
        assert(here.tree:create(path .. "/made", ""))
        list[2][2] = path .. "/made-too"
        for _, words in ipairs(list) do complains(LOST, "lost: " .. path .. "-lock-of-1/_c_", unpack(words)) end
        assert.same({ "other", { "made" } }, { (here.tree:get(path)), here.tree:children(path) })
      end)
    end

    it("fails if a single node of several is gone, and names it", function()
      local nodes, client = {}, here:connect()
      for i = 1, 3 do -- not of a multilock, which gives all back when it loses one
        local lock = client:mutex(path .. "-lock-of-" .. i)
        assert(lock:acquire(here.patience))
        nodes[i] = lock:nodes()[1]
      end
      here.tree:delete(nodes[2])
      complains(LOST, "lost: " .. nodes[2], "set", path, "new", "--guard", table.concat(nodes, "\n"))
    end)

    it("still says that what is to be written is not there", function()
      complains(NO_NODE, "no node: " .. path .. "/none", "set", path .. "/none", "x", "--guard", (held()))
    end)

    it("ends with 64 if it names no lock nodes", function()
      for _, none in ipairs { "", "\n", "\r\n\n" } do
        complains(USAGE, "'--guard': lock nodes expected, such as those of $ZKLOCK_NODE, got none",
          "set", path, "x", "--guard", none)
      end
      complains(USAGE, "'--guard': path '" .. path .. "': a lock's node expected", "set", path, "x", "--guard", path)
      complains(USAGE, "'--guard': path 'x': it must begin with '/'", "delete", path, "--guard", held() .. "\nx")
      assert.equal("old", here.tree:get(path))
    end)
  end)

  describe("ls", function()
    it("lists the children, sorted", function()
      assert.same(DONE, zklock("ls", path))
      for _, name in ipairs { "b", "a", "ä", "a b" } do assert(here.tree:create(path .. "/" .. name, "")) end
      assert.same({ code = 0, out = "a\na b\nb\nä\n", err = "" }, zklock("ls", path))
      assert.truthy(zklock("ls", "/").out:find("\nzookeeper\n", 1, true))
      complains(NO_NODE, "no node: " .. path .. "/none", "ls", path .. "/none")
    end)
  end)
end)
