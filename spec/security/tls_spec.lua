-- SPDX-License-Identifier: MIT
--- TLS, with a libzookeeper that has it (`make tls` builds one). That the option raises where there is none is in
--- spec/client/bad_input_spec.lua.

local authority = require "spec.support.authority"
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local memory = require "spec.support.memory"
local port = require "spec.support.port"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local script = require "spec.support.script"
local server = require "spec.support.server"
local socket = require "socket"
local uv = require "luv"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

if not zklock.features.tls then return end

local PATIENCE = wait.PATIENCE
local PASSWORD = "sesame-0pen"

describe("with TLS", function()
  local ours, theirs, mine, zk, tree, path, count
  local clients, proxies, lines

  setup(function()
    ours, theirs = authority.new("ours"), authority.new("theirs")
    mine = ours:issue("client", PASSWORD)
    zk = server.start { tls = { authority = ours } }
    tree = inspector.connect(zk.hosts)
    tree:add_auth("digest", server.SUPER)
    count = 0
  end)

  before_each(function()
    count = count + 1
    path = ("/tls/%d"):format(count)
    clients, proxies, lines = {}, {}, {}
  end)

  after_each(function()
    for _, one in ipairs(clients) do one:close() end
    for _, one in ipairs(proxies) do one:close() end
    for _, line in ipairs(lines) do assert.is_nil(line:find(PASSWORD, 1, true), line) end
  end)

  teardown(function()
    tree:close()
    zk:stop()
  end)

  local function files(changes)
    local tls = { ca = ours.ca, cert = mine.cert, key = mine.key, password = PASSWORD }
    for name, value in pairs(changes or {}) do tls[name] = value or nil end
    return tls
  end

  --- zklock.connect, whose client is closed after the spec, and whose log lines are kept.
  local function connect(hosts, tls, options)
    options = options or {}
    options.tls, options.log = tls, function(_, line) lines[#lines + 1] = line end
    options.log_level = options.log_level or "debug"
    local client, err, why = zklock.connect(hosts, options)
    clients[#clients + 1] = client
    return client, err, why
  end

  --- Connects in vain. Gives why: on a busy machine the servers are refused, or refuse, only after more time.
  local function why_refused(hosts, tls)
    local timeout, client, err, why = 1
    repeat
      timeout = 2 * timeout
      client, err, why = connect(hosts, tls, { connect_timeout = timeout })
      assert.same({ nil, "disconnected" }, { client, err })
    until why or timeout > PATIENCE
    return why
  end

  local function through_proxy()
    local one = proxy.start(zk.secure_hosts, { raw = true })
    proxies[#proxies + 1] = one
    return one
  end

  local function logged(text)
    for _, line in ipairs(lines) do
      if line:find(text, 1, true) then return true end
    end
    return false
  end

  local function becomes(client, state)
    wait.eventually(function()
      client:poll()
      return client:state() == state
    end, PATIENCE, state)
  end

  --- The ids of this process's threads.
  local function threads()
    local all, scan = {}, uv.fs_scandir "/proc/self/task"
    for id in function() return uv.fs_scandir_next(scan) end do all[id] = true end
    return all
  end

  local function has_more(now, before)
    for id in pairs(now) do
      if not before[id] then return true end
    end
    return false
  end

  local function read(name)
    local file = assert(io.open(name, "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end

  local function write(name, text)
    local file = assert(io.open(name, "wb"))
    file:write(text)
    file:close()
  end

  it("a client's own copy of its key's password does not stay in memory when it was closed", function()
    local copies, mark = 8, "a-password-that-is-not-elsewhere"
    local encrypted = ours:issue("marked", mark)
    local child = wait.spawn_lua([[
      local zklock, clients = require "zklock", {}
      local ca, cert, key, password, hosts = arg[1], arg[2], arg[3], arg[4], arg[6]
      local tls = { ca = ca, cert = cert, key = key, password = password }
      print "ready"
      io.read()
      for i = 1, tonumber(arg[5]) do clients[i] = assert(zklock.connect(hosts, { tls = tls, connect_timeout = 30 })) end
      print "connected"
      io.read()
      for i = 1, #clients do clients[i]:close() end
      print "closed"
      io.read()
    ]], { ours.ca, encrypted.cert, encrypted.key, mark, tostring(copies), zk.secure_hosts })

    local function counted(word)
      assert.equal(word, child:read_line())
      local found = memory.count(child.pid, mark)
      child:write("")
      return found
    end

    local before, open, closed = counted "ready", counted "connected", counted "closed"
    assert.is_true(open >= before + 2 * copies, ("%d, then %d"):format(before, open)) -- ours and the library's
    assert.is_true(closed <= open - copies, ("%d, then %d"):format(open, closed))
    child:wait()
  end)

  describe("a client", function()
    it("connects, acquires and releases", function()
      local client = assert(connect(zk.secure_hosts, files(), { log_level = "warn" }))
      local lock = client:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      local names = assert(tree:children(path))
      assert.equal(1, #names)
      assert.equal(tree:exists(path .. "/" .. names[1]).czxid, token)
      assert.is_true(lock:validity() > 0)
      assert.is_true(lock:release())
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, tree:children(path))
      assert.same({}, lines)
    end)

    it("does so as its page shows it", function()
      local block = read("docs/tls.md"):match("```lua\n(.-)```")
      local changes = { ["zk1:2281,zk2:2281"] = zk.secure_hosts, ["/etc/shop/ca.pem"] = ours.ca,
        ["/etc/shop/client.pem"] = mine.cert, ["/etc/shop/client.key"] = mine.key }
      local code, count_of = block:gsub('"([^"]+)"', function(text)
        return ("%q"):format(assert(changes[text], text))
      end)
      assert.equal(4, count_of)
      code = "local zklock, secret = ...\n" .. code .. "return client"
      local client = assert((loadstring or load)(code))(zklock, PASSWORD) -- luacheck: ignore 113
      clients[#clients + 1] = client
      assert(client:mutex(path):acquire(PATIENCE))
    end)

    it("does so with a key that is not encrypted, with and without a password", function()
      local plain = ours:issue("plain")
      for _, password in ipairs { false, "any" } do
        assert(connect(zk.secure_hosts, files { cert = plain.cert, key = plain.key, password = password }))
      end
    end)

    it("does so where the servers want no certificate of it", function()
      local open = server.start { tls = { authority = ours, client_auth = "none" } }
      local stranger = theirs:issue("stranger")
      local unknown = files { cert = stranger.cert, key = stranger.key }
      assert(connect(open.secure_hosts, unknown, { connect_timeout = PATIENCE }))
      open:stop()
    end)

    it("connects by name as well as by address, if both are in the certificate", function()
      assert(connect("localhost:" .. zk.secure_port, files(), { connect_timeout = PATIENCE }))
      local both = ("other.invalid:%d,localhost:%d"):format(zk.secure_port, zk.secure_port)
      assert(connect(both, files(), { connect_timeout = PATIENCE }))
    end)

    it("takes turns with others, with TLS and without", function()
      local first = assert(connect(zk.secure_hosts, files(), { acl = "open" })):mutex(path)
      local second = assert(connect(zk.secure_hosts, files(), { acl = "open" })):mutex(path)
      local third = assert(connect(zk.hosts, nil)):mutex(path)
      local before = 0
      for _ = 1, 10 do
        for _, lock in ipairs { first, second, third } do
          local token = assert(lock:acquire(PATIENCE))
          assert.is_true(token > before)
          before = token
          for _, other in ipairs { first, second, third } do
            if other ~= lock then assert.same({ nil, "timeout" }, { other:acquire(0) }) end
          end
          assert.is_true(lock:release())
        end
      end
    end)

    it("is the creator of its nodes by its certificate alone, and nobody else may do anything with them", function()
      local client = assert(connect(zk.secure_hosts, files()))
      local lock, stranger = client:mutex(path), inspector.connect(zk.hosts)
      assert(lock:acquire(PATIENCE))
      local node = path .. "/" .. tree:children(path)[1]
      for _, at in ipairs { path, node } do
        local acl = tree:get_acl(at)
        assert.same({ "x509", 1, 31 }, { acl[1].scheme, #acl, acl[1].perms })
        assert.is_truthy(acl[1].id:find("CN=client", 1, true), acl[1].id)
        assert.same({ nil, "NOAUTH" }, { stranger:get(at) })
      end
      assert.same({ nil, "NOAUTH" }, { stranger:delete(node) })
      stranger:close()
      local other = ours:issue("another")
      local named = assert(connect(zk.secure_hosts, files { cert = other.cert, key = other.key }))
      assert.same({ nil, "access denied" }, { named:mutex(path):acquire(PATIENCE) })
    end)

    it("lets others read its nodes with the acl 'read', and do all with 'open'", function()
      local stranger = inspector.connect(zk.hosts)
      local readable = assert(connect(zk.secure_hosts, files(), { acl = "read" }))
      assert(readable:mutex(path .. "-read"):acquire(PATIENCE))
      assert.equal(1, #assert(stranger:children(path .. "-read")))
      assert.same({ nil, "NOAUTH" }, { stranger:create(path .. "-read/mine", "") })
      local open = assert(connect(zk.secure_hosts, files(), { acl = "open" }))
      assert(open:mutex(path .. "-open"):acquire(PATIENCE))
      assert(stranger:create(path .. "-open/mine", ""))
      stranger:close()
    end)

    it("with two identities: either of them may do all", function()
      local auth = { scheme = "digest", credential = "user:password" }
      local both = assert(connect(zk.secure_hosts, files(), { auth = auth }))
      assert(both:mutex(path):acquire(PATIENCE))
      local schemes = {}
      for _, entry in ipairs(tree:get_acl(path)) do schemes[entry.scheme] = entry.perms end
      assert.same({ x509 = 31, digest = 31 }, schemes)
      local stranger = inspector.connect(zk.hosts)
      stranger:add_auth("digest", auth.credential)
      assert.is_true(stranger:delete(path .. "/" .. stranger:children(path)[1]))
      stranger:close()
    end)

    it("gets what a killed process held", function()
      local other = worker.start()
      assert(other:connect(zk.secure_hosts, { session_timeout = 1, connect_timeout = PATIENCE, tls = files() }))
      assert(other:acquire(path, PATIENCE))
      local lock = assert(connect(zk.secure_hosts, files())):mutex(path)
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      other:kill()
      assert(lock:acquire(PATIENCE))
    end)

    it("gets many answers at once, and one of many records", function()
      local client = assert(connect(zk.secure_hosts, files(), { session_timeout = 60 }))
      local granted, requests = 0, {} -- which are kept: one that is collected gives back what it holds
      for i = 1, 300 do
        requests[i] = client:mutex(("%s/%d"):format(path, i)):request(nil, function(token)
          if token then granted = granted + 1 end
        end)
        requests[300 + i] = client:mutex(path .. "/one"):request(nil, function() end)
      end
      wait.eventually(function()
        client:poll(0.05)
        return granted == 300
      end, 3 * PATIENCE, "300 grants")
      collectgarbage()
      wait.eventually(function() -- all have joined; the first to come made the directory
        return #assert(client:mutex(path .. "/one"):participants(PATIENCE)) == 300
      end, 3 * PATIENCE, "300 participants")
      assert.equal(0, client:stats().abandoned, #requests .. " requests were kept")
    end)
  end)

  describe("a link", function()
    it("that was cut is made again, and the lock kept", function()
      local between = through_proxy()
      local client = assert(connect(between.hosts, files(), { session_timeout = 30 }))
      local lock, id = client:mutex(path), client:session_id()
      local token = assert(lock:acquire(PATIENCE))
      for _ = 1, 3 do
        between:refuse()
        between:cut()
        becomes(client, "suspended")
        between:heal()
        becomes(client, "connected")
        assert.equal(id, client:session_id())
        assert.equal(token, lock:token())
      end
      assert.is_true(lock:release())
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, tree:children(path))
    end)

    it("that is accepted and not answered is given up, until it is answered #slow", function()
      local between = through_proxy()
      local client = assert(connect(between.hosts, files(), { session_timeout = 30 }))
      local lock = client:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      between:black_hole()
      between:cut()
      becomes(client, "suspended")
      wait.eventually(function()
        client:poll()
        return logged("error in ssl connect")
      end, PATIENCE, "a handshake that is given up")
      between:heal()
      becomes(client, "connected")
      assert.equal(token, lock:token())
    end)

    it("that another one takes over has TLS again, and the session #slow", function()
      local own = server.start { tls = { authority = ours } }
      local client = assert(connect(own.secure_hosts, files(), { session_timeout = 10, connect_timeout = PATIENCE }))
      local lock, id = client:mutex(path), client:session_id()
      local token = assert(lock:acquire(PATIENCE))
      local before = threads()
      own:kill()
      wait.eventually(function() return has_more(threads(), before) end, PATIENCE, "another link")
      own:start()
      becomes(client, "connected")
      assert.equal(id, client:session_id())
      assert.equal(token, lock:token())
      client:close()
      own:stop()
    end)

    it("is made to another server, if one accepts it and says no more", function()
      local black = through_proxy()
      black:black_hole()
      local list = {}
      for i = 1, 6 do -- in random order: some of them try that one first
        list[i] = connect(black.hosts .. "," .. zk.secure_hosts, files(), { connect_timeout = 0 })
      end
      for _, client in ipairs(list) do becomes(client, "connected") end
    end)

    it("is made to another server, if one does not even accept it #slow", function()
      local number = port.free()
      local listener = assert(socket.bind("127.0.0.1", number, 0))
      local filler = {}
      repeat -- until its queue is full: then the kernel drops what comes
        local one = socket.tcp()
        one:settimeout(0.2)
        filler[#filler + 1] = one
      until not one:connect("127.0.0.1", number)
      local list = {}
      for i = 1, 6 do
        list[i] = connect(("127.0.0.1:%d,%s"):format(number, zk.secure_hosts), files(),
          { connect_timeout = 0 })
      end
      for _, client in ipairs(list) do
        becomes(client, "connected")
      end
      listener:close()
      for _, one in ipairs(filler) do one:close() end
    end)
  end)

  describe("the servers", function()
    it("are not reached without TLS", function()
      assert.equal("disconnected", (select(2, connect(zk.secure_hosts, nil, { connect_timeout = 1 }))))
    end)

    it("are refused if another authority has signed them, and connect and the log say why", function()
      assert.equal("certificate verify failed: 127.0.0.1:" .. zk.secure_port,
        why_refused(zk.secure_hosts, files { ca = theirs.ca }))
      assert.is_true(logged("certificate verify failed"), table.concat(lines, "\n"))
    end)

    for what, names in pairs { ["another name"] = "DNS:zk1.example,DNS:localhost.example", ["no name"] = false,
      ["another address"] = "IP:127.0.0.2,DNS:127.0.0.1" } do
      it("are refused if there is " .. what .. " in their certificate, and the log says why", function()
        -- without a subject alternative name the common name counts, which is "server"
        local other = server.start { tls = { authority = ours, names = names or "email:a@b.example" } }
        for _, host in ipairs { "127.0.0.1", "localhost" } do
          local hosts = ("%s:%d"):format(host, other.secure_port)
          assert.matches("^certificate verify failed: ", why_refused(hosts, files()))
        end
        assert.is_true(logged("certificate verify failed"), table.concat(lines, "\n"))
        other:stop()
      end)
    end

    it("are refused if only an authority of the system's has signed them", function()
      local other = server.start { tls = { authority = theirs, client_auth = "none" } } -- it takes anybody
      local child = wait.spawn_lua([[
        local tls = { ca = arg[1], cert = arg[2], key = arg[3], password = arg[4] }
        print(require("zklock").connect(arg[5], { tls = tls, connect_timeout = 2, log = print }))
      ]], { ours.ca, mine.cert, mine.key, PASSWORD, other.secure_hosts }, { env = { SSL_CERT_FILE = theirs.ca } })
      local result = script.finish(child)
      assert.is_truthy(result.stdout:find("nil\tdisconnected", 1, true), result.stdout .. result.stderr)
      other:stop()
    end)

    it("refuse a client that another authority has signed, and the log says why", function()
      local stranger = theirs:issue("stranger")
      assert.matches(" alert .*: 127%.0%.0%.1:%d+$",
        why_refused(zk.secure_hosts, files { cert = stranger.cert, key = stranger.key }))
      assert.is_true(logged(" alert "), table.concat(lines, "\n"))
    end)

    it("may be silent: the client closes all the same", function()
      local black = through_proxy()
      black:black_hole()
      local before = threads()
      local client = connect(black.hosts, files(), { connect_timeout = 0 })
      wait.eventually(function() return black:links() > 0 end, PATIENCE, "a link")
      assert.is_true(client:close())
      wait.eventually(function() return not has_more(threads(), before) end, PATIENCE, "the end of its threads")
    end)
  end)

  describe("a file", function()
    local function raises(name, changes)
      local ok, message = pcall(function()
        local client = zklock.connect(zk.secure_hosts, { tls = files(changes), connect_timeout = 0 })
        return client
      end)
      assert.is_false(ok, "it does not raise")
      assert.is_truthy(message:find("bad argument 'options.tls." .. name .. "': ", 1, true), message)
      assert.is_truthy(message:find("tls_spec.lua:", 1, true), message)
      assert.is_nil(message:find(PASSWORD, 1, true), message)
      return message
    end

    it("is needed for ca, cert and key", function()
      for _, name in ipairs { "ca", "cert", "key" } do raises(name, { [name] = false }) end
    end)

    it("is named by a string that is not empty and has no comma", function()
      for _, name in ipairs { "ca", "cert", "key", "password" } do
        for _, value in ipairs { 7, true, {}, "", "a,b", "a\0b" } do raises(name, { [name] = value }) end
      end
    end)

    it("must be there and can be read", function()
      for _, name in ipairs { "ca", "cert", "key" } do
        assert.matches("No such file", raises(name, { [name] = "/nonesuch/file.pem" }))
        assert.matches("directory", raises(name, { [name] = folder.root() }))
      end
    end)

    it("must be what it is said to be", function()
      local nonsense = folder.file("nonsense", "nonsense\n")
      for _, name in ipairs { "ca", "cert", "key" } do
        raises(name, { [name] = nonsense })
        raises(name, { [name] = folder.file("empty", "") })
      end
      raises("ca", { ca = mine.key })
      raises("cert", { cert = mine.key })
      raises("key", { key = mine.cert })
    end)

    it("with the key belongs to the certificate, and opens with the password", function()
      raises("key", { key = ours:issue("other").key })
      raises("key", { password = "another" })
      raises("key", { password = false })
    end)

    it("that goes bad stops the client only until it is good again", function()
      local changing = { ca = folder.file("ca.pem", read(ours.ca)) }
      local between = through_proxy()
      local client = assert(connect(between.hosts, files(changing), { session_timeout = 30 }))
      local lock = client:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      write(changing.ca, "nonsense\n")
      between:cut()
      becomes(client, "suspended")
      local began, first = wait.now(), #lines
      wait.eventually(function()
        client:poll()
        return logged("Failed to load CA file") and #lines > first + 3
      end, PATIENCE, "a complaint")
      assert.is_true(#lines - first < 10 + 10 * (wait.now() - began), "it complains without a pause")
      write(changing.ca, read(ours.ca))
      becomes(client, "connected")
      assert.equal(token, lock:token())
    end)
  end)

  describe("a script", function()
    local FILES = [[
      local zklock = require "zklock"
      local tls = { ca = arg[1], cert = arg[2], key = arg[3], password = arg[4] }
    ]]

    local function run(source, ca, ...)
      return wait.run_lua(FILES .. source, ca, mine.cert, mine.key, PASSWORD, ...)
    end

    it("that just ends gives its lock back at once", function()
      local result = run([[
        local plain = assert(zklock.connect(arg[5]))
        local client = assert(zklock.connect(arg[6], { tls = tls, session_timeout = 60 }))
        assert(client:mutex(arg[7]):acquire(60))
        os.exit(0)
      ]], ours.ca, zk.hosts, zk.secure_hosts, path)
      assert.same({ 0, "", "" }, { result.code, result.stdout, result.stderr })
      assert(assert(connect(zk.secure_hosts, files())):mutex(path):acquire(PATIENCE))
    end)

    it("may end while its clients connect", function()
      for i = 1, 6 do
        local result = run([[
          zklock.connect(arg[5], { connect_timeout = 0 })
          for _ = 1, 10 do zklock.connect(arg[6], { tls = tls, connect_timeout = 0 }) end
          local busy = os.clock() + arg[7] / 200 -- in the midst of the handshakes, sooner or later
          while os.clock() < busy do end
          os.exit(0)
        ]], ours.ca, zk.hosts, zk.secure_hosts, i)
        assert.same({ 0, "", "" }, { result.code, result.stdout, result.stderr })
      end
    end)

    it("with clients that cannot connect writes nothing to stderr", function()
      local result = run([[
        for _ = 1, 20 do zklock.connect(arg[5], { tls = tls, connect_timeout = 0 }) end
        assert(not zklock.connect(arg[6], { tls = tls, connect_timeout = 1 }))
      ]], theirs.ca, "127.0.0.1:" .. port.free(), zk.secure_hosts)
      assert.same({ 0, "", "" }, { result.code, result.stdout, result.stderr })
    end)
  end)
end)

describe("the libzookeeper of make tls", function()
  for line in io.lines "/proc/self/maps" do
    local library = line:match("%S*/build/tls/libzookeeper_mt%.so%S*")
    if library then
      it("has the protections of Debian's packages", function()
        local tool = process.spawn { "tools/hardened.sh", library, env = process.PLAIN }
        assert.equal(0, (tool:wait(PATIENCE)), tool:stdout() .. tool:stderr())
      end)
      break
    end
  end
end)
