-- SPDX-License-Identifier: MIT
--- Nodes inside nginx: no read or write holds up its worker.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"

if not nginx.is_testable() then
  describe("inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

describe("of nodes inside nginx", function()
  local here = fixture.new("/nginx-nodes")

  before_each(function() assert(here.tree:create(here.path, "1", { parents = true })) end)

  it("requests read, write and list, and lock, with a guard", function()
    local web = here:nginx { server = [[
      location / { content_by_lua_block {
        local path, lock = "@path@", client:mutex("@path@/lock")
        assert(client:set(path, "a\0b", 0, 10))
        local data, stat = client:get(path, 10)
        ngx.say(#data, " ", stat.version)
        ngx.say((client:create(path .. "/x/y", "", { parents = true }, 10)))
        ngx.say(table.concat(client:children(path, 10), " "), " ", client:exists(path .. "/z", 10))
        ngx.say(client:delete(path .. "/x/y", nil, 10), " ", client:sync(10))
        ngx.say(tostring(select(2, lock:multi({ { "set", path, "2" } }, 10))))
        assert(lock:acquire(60))
        ngx.say(lock:multi({ { "set", path, "2" } }, 10)[1].version, " ", #lock:nodes())
        lock:release()
      } }
    ]] }
    assert.same({ 200, "3 1\n" .. here.path .. "/x/y\nx false\ntrue true\nnot owner\n2 1\n" }, { web:get("/") })
    assert.equal("2", (here.tree:get(here.path)))
    assert.same({}, web:errors())
  end)

  it("a request checks a token, and asks why another one waits", function()
    local web = here:nginx { server = [[
      location / { content_by_lua_block {
        local path, lock = "@path@/lock", client:mutex("@path@/lock")
        local token = assert(lock:acquire(60))
        local request = lock:request(60, function() end)
        local why
        for _ = 1, 1000 do
          why = request:why()
          if why and why:find "^second of 2" then break end
          ngx.sleep(0.01) -- between two looks
        end
        ngx.say(tostring(client:check(path, token, 10)), " ", tostring(client:check(path, token + 1000, 10)))
        ngx.say((why:match "^[^,]+"))
        request:cancel()
        lock:release()
        ngx.say(tostring(client:check(path, token, 10)), " ", tostring(request:why()))
      } }
    ]] }
    assert.same({ 200, "true false\nsecond of 2\nfalse nil\n" }, { web:get("/") })
    assert.same({}, web:errors())
  end)

  it("a request that waits for an answer does not hold up others", function()
    local way = here:proxy()
    local web = here:nginx { values = { hosts = way.hosts }, server = [[
      location /get { content_by_lua_block { ngx.say((client:get("@path@", 20))) } }
      location /ping { content_by_lua_block { ngx.say("pong") } }
    ]] }
    assert.same({ 200, "1\n" }, { web:get("/get") })
    way:hold_reply("getData")
    local slow = web:begin("/get")
    here:eventually(function() return way:is_holding() end, "the answer to be held up")
    assert.same({ 200, "pong\n" }, { web:get("/ping") })
    assert.is_false(slow:is_answered())
    way:heal()
    assert.same({ 200, "1\n" }, { slow:finish(20) })
    assert.same({}, web:errors())
  end)

  it("what is spawned runs soon, in a light thread that owns what it takes", function()
    local web = here:nginx { server = [[
      location / { content_by_lua_block {
        local lock, read = client:mutex("@path@/lock"), {}
        local done = require("ngx.semaphore").new(0)
        for i = 1, 8 do
          client:spawn(function(n)
            read[n] = client:get("@path@", 10)
            done:post(1)
          end, i)
        end
        client:spawn(function()
          assert(lock:acquire(60))
          read.held = lock:is_held()
          done:post(1)
        end)
        for _ = 1, 9 do assert(done:wait(10)) end
        ngx.say(table.concat(read), " ", read.held, " ", lock:is_held())
      } }
    ]] }
    assert.same({ 200, "11111111 true false\n" }, { web:get("/") })
    here:becomes(0, here.path .. "/lock")
    assert.same({}, web:errors())
  end)

  it("each worker follows a node from init_worker on, without a request that waits", function()
    local web = here:nginx { http = [[
      init_worker_by_lua_block {
        client = assert(require("zklock").connect("@hosts@"))
        package.loaded.seen = {}
        local seen = require "seen"
        assert(client:watch("@path@", function(data) seen.value = data end))
        assert(client:watch_children("@path@", function(names)
          seen.names = names and table.concat(names, " ")
        end))
      }
    ]], server = [[
      location / { content_by_lua_block {
        local seen = require "seen"
        ngx.say(seen.value, " ", seen.names)
      } }
    ]] }
    here:eventually(function() return select(2, web:get("/")) == "1 \n" end, "the first state")
    assert(here.tree:set(here.path, "2"))
    assert(here.tree:create(here.path .. "/x"))
    here:eventually(function() return select(2, web:get("/")) == "2 x\n" end, "the next")
    assert.same({}, web:errors())
  end)

  it("a watch that a request has begun goes on after it", function()
    local web = here:nginx { server = [[
      location /begin { content_by_lua_block {
        package.loaded.seen = {}
        local seen = require "seen"
        assert(client:watch("@path@", function(data) seen.value = data end))
        ngx.say("begun")
      } }
      location / { content_by_lua_block { ngx.say((package.loaded.seen or {}).value) } } # by one worker
    ]] }
    assert.same({ 200, "begun\n" }, { web:get("/begin") })
    here:eventually(function() return select(2, web:get("/")) == "1\n" end, "the first state")
    assert(here.tree:set(here.path, "2"))
    here:eventually(function() return select(2, web:get("/")) == "2\n" end, "the next")
    assert.same({}, web:errors())
  end)

  it("a watch whose callback ends with ngx.exit is called once for each change", function()
    local web = here:nginx { workers = 1, server = [[
      location /begin { content_by_lua_block {
        package.loaded.seen = {}
        client:watch("@path@", function(data)
          table.insert(require "seen", data)
          ngx.exit(ngx.OK)
        end)
      } }
      location / { content_by_lua_block {
        local seen = require "seen"
        ngx.say(table.concat(seen, " ", 1, math.min(#seen, 9)))
      } }
    ]] }
    web:get("/begin")
    for i = 1, 3 do
      local last = ("%d"):format(i)
      if i > 1 then assert(here.tree:set(here.path, last)) end
      here:eventually(function() return select(2, web:get("/")):find(last .. "\n", 1, true) end, "change " .. last)
    end
    assert.same({ 200, "1 2 3\n" }, { web:get("/") })
    assert.same({}, web:errors())
  end)

  it("a watch tells what came while its callback waited, if another one's ngx.exit has ended that", function()
    local web = here:nginx { workers = 1, server = [[
      location /begin { content_by_lua_block {
        local seen = { slow = {}, quick = {} }
        package.loaded.seen = seen
        client:watch("@path@", function(data)
          table.insert(seen.slow, data)
          if data == "2" then ngx.sleep(600) end
        end)
        client:watch("@path@", function(data) table.insert(seen.quick, data) end)
      } }
      location /end { content_by_lua_block { client:spawn(function() ngx.exit(0) end) } }
      location / { content_by_lua_block {
        local seen = require "seen"
        ngx.say(table.concat(seen.slow, " "), ", ", table.concat(seen.quick, " "))
      } }
    ]] }
    local function sees(what)
      here:eventually(function() return select(2, web:get("/")) == what .. "\n" end, what)
    end
    web:get("/begin")
    sees("1, 1")
    assert(here.tree:set(here.path, "2"))
    sees("1 2, 1 2")
    assert(here.tree:set(here.path, "3"))
    sees("1 2, 1 2 3") -- one call at a time
    web:get("/end")
    sees("1 2 3, 1 2 3")
    assert.same({}, web:errors())
  end)
end)
