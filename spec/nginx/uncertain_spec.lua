-- SPDX-License-Identifier: MIT
--- A release in a worker of nginx that cannot know whether it still holds: the worker was stopped for longer than its
--- session, or its link is cut. Another process has held the lock meanwhile.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"
local uv = require "luv"

if not nginx.is_testable() then
  describe("a release without certainty inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE
local SESSION, LONG = 2, 30 -- seconds

describe("a release without certainty inside nginx", function()
  local here = fixture.new("/nginx-uncertain", { session_timeout = 30 })
  local direct, faulty, web

  setup(function() direct, faulty = here:connect(), here:proxy() end)

  -- `pause` returns when validity is 0. The worker stops itself, so that the release is the very next thing that it
  -- does.
  local HTTP = [[
    lua_shared_dict counts 1m;
    init_worker_by_lua_block {
      local ffi = require "ffi"
      ffi.cdef "int raise(int);"
      zklock = require "zklock"
      client = assert(zklock.connect("@faulty@", { session_timeout = @session@ }))
      local counts, SIGSTOP = ngx.shared.counts, 19
      function told(err, _, token)
        counts:set("told", ("%s of %s"):format(err, token))
        counts:incr("losses", 1, 0)
      end
      lock, semaphore = client:mutex("@path@"), client:semaphore("@path@-leases", 1)
      lock:on_lost(told)
      function pause(hold)
        counts:set("inside", hold:token())
        if ngx.var.args == "stopped" then return ffi.C.raise(SIGSTOP) end
        while hold:validity() > 0 do ngx.sleep(0.01) end
        while not counts:get("go") do ngx.sleep(0.01) end
      end
    }
  ]]

  local SERVER = [[
    location /with { content_by_lua_block {
      local ok, err, done, more = lock:with(60, function()
        pause(lock)
        return "done", 7
      end)
      ngx.say(tostring(ok), " ", err, " ", done, " ", more)
    } }
    location /release { content_by_lua_block {
      assert(lock:acquire(60))
      pause(lock)
      local ok, err = lock:release()
      ngx.say(tostring(ok), " ", err, " ", select(2, lock:release()))
    } }
    location /guard { content_by_lua_block {
      local guard = assert(lock:guard(20))
      pause(guard)
      local ok, err = guard:release()
      ngx.say(tostring(ok), " ", err, " ", tostring(guard:release()))
    } }
    location /lease { content_by_lua_block {
      local lease = assert(semaphore:acquire(60))
      lease:on_lost(told)
      pause(lease)
      local ok, err = lease:release()
      ngx.say(tostring(ok), " ", err, " ", tostring(lease:is_held()))
    } }
    location /callback { content_by_lua_block {
      local request = lock:request(60, function() end)
      while request:state() ~= "held" do ngx.sleep(0.01) end
      pause(request)
      local ok, err = request:release()
      ngx.say(tostring(ok), " ", err, " ", request:state())
    } }
    location /inside { content_by_lua_block { ngx.say(ngx.shared.counts:get("inside")) } }
    location /go { content_by_lua_block { ngx.shared.counts:set("go", true) } }
    location /seen { content_by_lua_block {
      local counts, stats = ngx.shared.counts, client:stats()
      ngx.say(counts:get("told") or "nothing", ", ", counts:get("losses") or 0, " times; released ", stats.released,
        ", lost ", stats.lost)
    } }
  ]]

  --- One worker, whose client goes through the proxy.
  local function start(session)
    web = here:nginx { workers = 1, http = HTTP, server = SERVER,
      values = { faulty = faulty.hosts, session = tostring(session or SESSION) } }
  end

  local function await_stop(pid)
    wait.eventually(function()
      local file = io.open(("/proc/%d/stat"):format(pid))
      local state = file and file:read("*a"):match("%) (%a)")
      if file then file:close() end
      return state == "T"
    end, PATIENCE, "the worker's stop")
  end

  --- Somebody else holds it, and gives it back.
  local function overtake(is_lease)
    if is_lease then
      local lease = assert(direct:semaphore(here.path .. "-leases", 1):acquire(PATIENCE))
      assert.is_true(lease:release())
    else
      assert(direct:mutex(here.path):acquire(PATIENCE))
      assert.is_true(direct:mutex(here.path):release())
    end
    assert.is_true(direct:flush(PATIENCE))
  end

  --- The client hears that its session has ended.
  local function find_out()
    faulty:refuse()
    faulty:cut()
    faulty:heal()
  end

  --- Waits until the loss was told and counted, once.
  local function is_told(token)
    local expected = ("lost of %s, 1 times; released 1, lost 1\n"):format(token)
    wait.eventually(function()
      local _, seen = web:get("/seen")
      return seen == expected, seen
    end, PATIENCE, expected)
  end

  local ANSWERS = {
    with = "nil unknown done 7\n",
    release = "nil unknown not owner\n",
    guard = "nil unknown true\n",
    lease = "nil unknown false\n",
    callback = "nil unknown released\n",
  }

  for way, answer in pairs(ANSWERS) do
    it(("answers 'unknown' to %s in a worker that was stopped, and the loss is told later"):format(way), function()
      start()
      local pid = web:workers()[1]
      local call = web:begin(("/%s?stopped"):format(way))
      await_stop(pid)
      faulty:black_hole() -- no server can tell the worker about the end of its session when it goes on
      overtake(way == "lease")
      uv.kill(pid, "sigcont")
      assert.same({ 200, answer }, { call:finish() })
      local _, seen = web:get("/seen")
      assert.equal("nothing, 0 times; released 1, lost 0\n", seen)
      find_out()
      is_told((select(2, web:get("/inside")):gsub("\n", "")))
      assert.same({}, web:errors())
    end)
  end

  it("answers 'unknown' to `with` over a cut link, and the loss is told later", function()
    start()
    local call = web:begin("/with?cut")
    wait.eventually(function() return select(2, web:get("/inside")) ~= "nil\n" end, PATIENCE, "a holder")
    faulty:black_hole()
    overtake()
    web:get("/go")
    assert.same({ 200, ANSWERS.with }, { call:finish() })
    find_out()
    is_told((select(2, web:get("/inside")):gsub("\n", "")))
  end)

  it("never answers true to a worker that was stopped, also when the servers can tell it at once", function()
    start()
    local pid = web:workers()[1]
    for _ = 1, 3 do
      local call = web:begin("/with?stopped")
      await_stop(pid)
      overtake()
      uv.kill(pid, "sigcont")
      local _, body = call:finish()
      assert.is_true(body == ANSWERS.with or body == "nil lost done 7\n", body)
    end
  end)

  it("answers true when the session has survived the stop", function()
    start(LONG)
    local pid = web:workers()[1]
    local call = web:begin("/with?stopped")
    await_stop(pid)
    assert.same({ nil, "timeout" }, { direct:mutex(here.path):acquire(0) })
    uv.kill(pid, "sigcont")
    assert.same({ 200, "true done 7 nil\n" }, { call:finish() })
  end)
end)
