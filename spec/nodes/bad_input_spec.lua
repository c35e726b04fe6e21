-- SPDX-License-Identifier: MIT
--- Input that calls on nodes refuse, with an error that names the argument and the caller's line.

local zklock = require "zklock"

describe("a call on nodes", function()
  local client, rootless, lock

  setup(function()
    client = assert(zklock.connect("127.0.0.1:1/root", { connect_timeout = 0 }))
    rootless = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 }))
    lock = client:mutex("/lock")
  end)
  teardown(function()
    client:close()
    rootless:close()
  end)

  local LONG = "/" .. ("x"):rep(256)
  local ALMOST_TOO_LONG = ("/" .. ("x"):rep(240)):rep(17):sub(1, 4090 - #"/root")

  local WRONG = {
    { "bad argument 'path'", function() client:get() end },
    { "bad argument 'path'", function() client:get("x") end },
    { "bad argument 'path'", function() client:get("/x/") end },
    { "bad argument 'path'", function() client:exists("/a//b") end },
    { "bad argument 'path'", function() client:children("/a\0b") end },
    { "bad argument 'path'", function() client:get(LONG) end },
    { "more than 128 components", function() client:get(("/x"):rep(128)) end },
    { "/zookeeper is reserved for the servers", function() client:set("/zookeeper/quota", "") end },
    { "/zookeeper is reserved for the servers", function() client:create("/zookeeper/x") end },
    { "/zookeeper is reserved for the servers", function() client:delete("/zookeeper") end },
    { "bad argument 'path': path '/': it must name a node below '/'", function() rootless:delete("/", nil, 0) end },
    { "bad argument 'ops%[1%]%[2%]': path '/': it must name",
      function() rootless:multi({ { "delete", "/" } }, 0) end },
    { "bad argument 'path'.*a character that ZooKeeper rejects",
      function() client:create("/\240\159\152\128", "", nil, 0) end },
    { "a character that ZooKeeper rejects", function() client:set("/a\194\133", "", nil, 0) end },
    { "a character that ZooKeeper rejects", function() client:get("/\255", 0) end },
    { "a character that ZooKeeper rejects", function() client:watch("/\237\160\128", print) end },
    { "bad argument 'ops%[2%]%[2%]'.*a character that",
      function() client:multi({ { "check", "/x" }, { "check", "/\239\191\189" } }, 0) end },
    { "a character that ZooKeeper rejects", function() client:mutex("/a\255") end },
    { "'x%-lock%-0000000000' could be the name of a lock's node",
      function() client:create("/a/x-lock-0000000000") end },
    { "could be the name of a lock's node", function() client:create("/x-lock-0000000000/a") end },
    { "it could be the name of a lock's node", function() client:create("/a/x-lock-", "", { sequential = true }) end },
    { "with the sequence number appended, it has a component of more than 255 bytes",
      function() client:create("/a/" .. ("x"):rep(245), "", { sequential = true }, 0) end },
    { "bad argument 'ops%[1%]%[2%]'.*with the sequence number appended, it has more than 4096 bytes",
      function() client:multi({ { "create", ALMOST_TOO_LONG, "", { sequential = true } } }, 0) end },
    { "bad argument 'timeout'", function() client:get("/x", -1) end },
    { "bad argument 'timeout'", function() client:sync("x") end },
    { "bad argument 'data': string expected, got number", function() client:create("/x", 1) end },
    { "bad argument 'data': string expected, got nil", function() client:set("/x") end },
    { "bad argument 'version'", function() client:set("/x", "", 1.5) end },
    { "bad argument 'version'", function() client:set("/x", "", 2 ^ 31) end },
    { "bad argument 'version'", function() client:delete("/x", "1") end },
    { "unknown option 'ephemerel'", function() client:create("/x", "", { ephemerel = true }) end },
    { "bad argument 'options.ephemeral'", function() client:create("/x", "", { ephemeral = 1 }) end },
    { "bad argument 'options.container'",
      function() client:create("/x", "", { container = true, ephemeral = true }) end },
    { "bad argument 'options.acl'", function() client:create("/x", "", { acl = "all" }) end },
    { "without them there is no creator", function() client:create("/x", "", { acl = "creator" }) end },
    { "bad argument 'ops'", function() client:multi() end },
    { "bad argument 'ops'", function() client:multi { [2] = { "check", "/x" } } end },
    { "bad argument 'ops%[1%]': table expected, got string", function() client:multi { "set", "/x", "" } end },
    { "bad argument 'ops%[2%]%[1%]'", function() client:multi { { "check", "/x" }, { "get", "/x" } } end },
    { "bad argument 'ops%[1%]%[2%]'", function() client:multi { { "check", "x" } } end },
    { "bad argument 'ops%[1%]%[3%]': string expected", function() client:multi { { "set", "/x" } } end },
    { "bad argument 'ops%[1%]%[4%]'", function() client:multi { { "set", "/x", "", "1" } } end },
    { "bad argument 'ops%[1%]%[3%]'", function() client:multi { { "check", "/x", 0.5 } } end },
    { "bad argument 'ops%[1%]%[4%].container'",
      function() client:multi { { "create", "/x", "", { container = true } } } end },
    { "bad argument 'ops%[1%]%[4%].parents'",
      function() client:multi { { "create", "/x", "", { parents = true } } } end },
    { "unknown option", function() client:multi { { "create", "/x", "", { foo = true } } } end },
    { "bad argument 'ops%[1%]': unknown entry 'version'; 'set' takes path, data, version, in this order",
      function() client:multi({ { "set", "/x", "", version = 3 } }, 0) end },
    { "bad argument 'ops%[2%]': unknown entry '4'; 'check' takes path, version",
      function() client:multi({ { "check", "/x" }, { "check", "/x", -1, 3 } }, 0) end },
    { "bad argument 'ops%[1%]': unknown entry 'ephemeral'",
      function() lock:multi({ { "create", "/x", "", ephemeral = true } }, 0) end },
    { "bad argument 'ops%[1%]': unknown entry '1.5'",
      function() client:multi({ { "delete", "/x", [1.5] = 1 } }, 0) end },
    { "bad argument 'ops'", function() lock:multi("x") end },
    { "bad argument 'timeout'", function() lock:multi({}, "x") end },
    { "bad argument 'fn'", function() client:spawn() end },
    { "call it with a colon, client:get", function() client.get("/x") end },
    { "call it with a colon, lock:multi", function() lock.multi {} end },
  }

  for i, wrong in ipairs(WRONG) do
    it(("refuses: %s (%d)"):format(wrong[1]:gsub("%%", ""), i), function()
      local ok, err = pcall(wrong[2])
      assert.is_false(ok)
      assert.truthy(err:find(wrong[1]), err)
      assert.truthy(err:find("bad_input_spec.lua:", 1, true), err)
    end)
  end

  it("takes for reading what is a lock's or the servers'", function()
    for _, path in ipairs { "/", "/zookeeper", "/zookeeper/quota", "/a/x-lock-0000000000" } do
      assert.equal("disconnected", select(2, client:get(path, 0)))
    end
    assert.equal("disconnected", select(2, client:delete("/", nil, 0))) -- the chroot
    assert.equal("disconnected", select(2, client:delete("/a/x-lock-0000000000", nil, 0)))
    assert.equal("disconnected", select(2, client:set("/a/x-lock-0000000000", "", nil, 0)))
  end)
end)
