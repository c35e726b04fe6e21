-- SPDX-License-Identifier: MIT
--- The examples when they are cut off from the servers, or stopped, and somebody else has the lock meanwhile:
--- looked at where they act. Their output goes to a resource, which refuses tokens that are too old, and whose log
--- tells all the rest. #once

local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local proxy = require "spec.support.proxy"
local queue = require "spec.support.queue"
local resource = require "spec.support.resource"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"
require "spec.support.real_loops" -- for where Debian has Copas

local PATIENCE = wait.PATIENCE
local SESSION = 2 -- seconds: the most that these servers grant

--- Runs an example. Each `print` is a step at the resource, with the token that it prints; the first time it stops
--- until a line comes on stdin, if that is wanted, with the token in its hands.
local SCRIPT = [[
  local resource = require "spec.support.resource"
  local example, address, owner, waits = ...
  local writer = resource.open(address)
  function print(line)
    local token = tonumber(line:match("with token (%d+)") or line:match("^(%d+) "))
    if waits == "waits" then
      waits = nil
      writer:enter(token, owner)
      io.read()
    end
    io.stdout:write(writer:write(token, owner) and "accepted" or "refused", "\n")
    io.stdout:flush()
  end
  arg = { [0] = example }
  dofile(example)
]]

describe("an example in trouble #once", function()
  local zk, tree, relay, target, other

  setup(function()
    zk = server.start { max_session_timeout = SESSION * 1000 }
    tree = inspector.connect(zk.hosts)
  end)

  before_each(function()
    relay = proxy.start(zk.hosts)
    target = resource.start()
    other = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, connect_timeout = PATIENCE }))
  end)

  after_each(function()
    other:close()
    relay:close()
    target:close()
    tree:delete_tree("/shop")
  end)

  teardown(function()
    tree:close()
    zk:stop()
  end)

  local function start(name, hosts, owner, place, waits)
    return wait.spawn_lua(SCRIPT, { ("examples/%s.lua"):format(name), (place or target).address, owner,
      waits and "waits" or "" }, { env = { ZOOKEEPER = hosts, LUA_PATH = package.path } })
  end

  --- Takes the lock when the example has lost it, and does something with it.
  local function take_over(path, place)
    local lock, writer = other:mutex(path), resource.open(place.address)
    local token = assert(lock:acquire(PATIENCE))
    assert.is_true(writer:enter(token, "other"))
    assert.is_true(writer:write(token, "other"))
    return function()
      assert.is_true(writer:leave(token, "other"))
      assert.is_true(lock:release())
      writer:close()
    end
  end

  local ONCE = { ["ten_lines"] = "/shop/item-42", ["loops/in_copas"] = "/shop/stock",
    ["loops/in_cqueues"] = "/shop/stock", ["loops/in_luv"] = "/shop/stock", ["loops/in_select"] = "/shop/stock",
    ["loops/own_loop"] = "/shop/stock" }

  --- All of them at a time, each below a chroot of its own; `strike` takes the locks from them, who have the tokens in
  --- their hands.
  local function each_loses(strike, heal)
    local all = {}
    for name, path in pairs(ONCE) do
      local chroot, place = "/shop/" .. name:gsub("/", "-"), resource.start()
      all[name] = { path = chroot .. path, place = place,
        child = start(name, relay.hosts .. chroot, "example", place, true) }
    end
    for name, one in pairs(all) do
      wait.eventually(function() return one.place:inside() == "example" end, PATIENCE, name)
    end
    strike(all)
    for _, one in pairs(all) do
      one.leave = take_over(one.path, one.place)
      one.child:write("go on")
    end
    heal(all)
    for name, one in pairs(all) do
      wait.eventually(function() return one.child:stdout() ~= "" end, PATIENCE, name)
      assert.equal("refused\n", one.child:stdout(), name)
      one.leave()
    end
    relay:heal()
    for name, one in pairs(all) do
      assert.is_truthy(one.child:wait(PATIENCE), name)
      queue.at(tree, one.path):becomes(0)
      one.place:close()
    end
  end

  it("that was stopped with the token in its hands does nothing more", function()
    local function each(verb)
      return function(all)
        for _, one in pairs(all) do one.child[verb](one.child) end
      end
    end
    each_loses(each "stop", each "continue")
  end)

  it("that was cut off with the token in its hands does nothing more", function()
    each_loses(function() relay:black_hole() end, function() end)
  end)

  it("that is cut off before it has the lock does nothing, says so, and ends", function()
    local children = {}
    for name in pairs(ONCE) do
      local link = proxy.start(zk.hosts)
      link:hold_before("create2")
      children[name] = { start(name, link.hosts, "example"), link }
    end
    for name, pair in pairs(children) do
      local child, link = pair[1], pair[2]
      local code = child:wait(PATIENCE)
      assert.is_truthy(code and code > 0, ("%s: %s"):format(name, code))
      assert.equal("", child:stdout(), name)
      assert.matches("disconnected", child:stderr(), name)
      link:close()
    end
    assert.equal(0, (target:written()))
  end)

  describe("(the job in a loop)", function()
    --- The owner of each write, in order, and what came of it: "first accepted".
    local function done()
      target.own:sync()
      local list = {}
      for line in io.lines(target.path) do
        local owner, verdict = line:match("^%d+ (%S+) write (%l+)")
        if owner then list[#list + 1] = owner .. " " .. verdict end
      end
      return list
    end

    local function works(owner, after)
      wait.eventually(function()
        local list = done()
        for i = after + 1, #list do
          if list[i] == owner .. " accepted" then return true end
        end
        return false, table.concat(list, ", ")
      end, PATIENCE, owner .. " at work")
      return #done()
    end

    --- The writes of the first once the second was at work.
    local function done_late()
      local list, second, late = done(), false, {}
      for _, what in ipairs(list) do
        second = second or what:find("^second") ~= nil
        if second and what:find("^first") then late[#late + 1] = what end
      end
      return late
    end

    local first, second

    before_each(function()
      first = start("loops/job", relay.hosts, "first")
      works("first", 0)
      second = start("loops/job", zk.hosts, "second")
      queue.at(tree, "/shop/job"):becomes(2)
    end)

    after_each(function()
      first:kill()
      second:kill()
    end)

    it("is not done any more by who is cut off, but by the next, and by him again when that one is gone", function()
      relay:black_hole()
      works("second", works("second", 0))
      assert.same({}, done_late())
      relay:heal()
      queue.at(tree, "/shop/job"):becomes(2)
      local before = works("second", #done())
      assert.same({}, done_late())
      second:kill()
      works("first", before)
    end)

    it("is not done by who was stopped and wakes up, but for what the token keeps out", function()
      first:stop()
      works("second", 0)
      first:continue()
      queue.at(tree, "/shop/job"):becomes(2)
      works("second", #done())
      local late = done_late()
      assert.is_true(#late <= 1 and (not late[1] or late[1] == "first refused"), table.concat(late, ", "))
    end)
  end)

  describe("(the flash sale)", function()
    local LOCK, STOCK = "/flash-sale/item-42", 40
    local item, lock, buyer

    before_each(function()
      package.path = package.path .. ";examples/flash_sale/?.lua"
      local database = folder.new("sale") .. "/database"
      item = dofile("examples/flash_sale/shop.lua").create(database, STOCK)
      lock = other:mutex(LOCK)
      buyer = wait.spawn_lua("examples/flash_sale/buyer.lua", { "1", database, relay.hosts })
    end)

    after_each(function()
      buyer:kill()
      item:close()
      tree:delete_tree("/flash-sale")
    end)

    local function said() return buyer:stdout():match("([^\n]*)\n$") or "" end

    --- Everything is sold, once.
    local function sells_out()
      assert.same({ 0, 0 }, { buyer:wait(PATIENCE) }, buyer:stderr())
      assert.same({ 0, STOCK }, { item:stock(), item:sold() })
    end

    it("sells nothing twice when a buyer is stopped while it pays, and another has the lock", function()
      wait.eventually(function() -- it pays for some hundredths of a second only
        if not said():find("^paying") then return false end
        buyer:stop()
        if said():find("^paying") then return true end
        buyer:continue()
        return false
      end, PATIENCE, "a payment")
      local token = assert(lock:acquire(PATIENCE))
      local stock = item:stock(token)
      buyer:continue()
      wait.eventually(function() return not said():find("^paying") end, PATIENCE)
      assert.matches("^refused", said())
      assert.is_true(item:sell(stock - 1, 2, token))
      assert.is_true(lock:release())
      sells_out()
    end)

    it("sells nothing twice when a buyer is cut off", function()
      wait.eventually(function() return buyer:stdout():find("sold") end, PATIENCE)
      relay:black_hole()
      for _ = 1, 3 do
        local token = assert(lock:acquire(PATIENCE))
        assert.is_true(item:sell(item:stock(token) - 1, 2, token))
        assert.is_true(lock:release())
      end
      relay:heal()
      sells_out()
    end)
  end)
end)
