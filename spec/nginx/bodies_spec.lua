-- SPDX-License-Identifier: MIT
--- Inside nginx: a request waits for a lock while its body is still on the way.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local socket = require "socket"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("a request with a body", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

describe("a request with a body", function()
  local here = fixture.new("/nginx-bodies")
  local other, web

  setup(function() other = here:second_process() end)

  before_each(function()
    web = here:nginx { workers = 1, server = [[
      location /body { content_by_lua_block { ngx.req.read_body() ngx.say(#ngx.req.get_body_data()) } }
      location /threads { content_by_lua_block {
        local lock = client:mutex("@path@")
        local reader = ngx.thread.spawn(function() ngx.req.read_body() return #ngx.req.get_body_data() end)
        local waiter = ngx.thread.spawn(function() return lock:acquire(60) ~= nil end)
        ngx.say(select(2, ngx.thread.wait(reader)), " ", select(2, ngx.thread.wait(waiter)))
      } }
      location /socket { content_by_lua_block {
        local lock, body = client:mutex("@path@"), assert(ngx.req.socket())
        local reader = ngx.thread.spawn(function() return body:receive(10) end)
        local waiter = ngx.thread.spawn(function() return lock:acquire(60) ~= nil end)
        ngx.say(select(2, ngx.thread.wait(reader)), " ", select(2, ngx.thread.wait(waiter)))
      } }
      location /upstream {
        access_by_lua_block { assert(client:mutex("@path@"):acquire(60)) }
        proxy_pass http://127.0.0.1:@port@/body;
        proxy_http_version 1.1;
        proxy_request_buffering off;
      }
      location /exec { content_by_lua_block {
        client:mutex("@path@"):with(60, function() ngx.exec("/body") end)
      } }
      location /exit { content_by_lua_block {
        ngx.thread.spawn(function() ngx.req.read_body() end)
        client:mutex("@path@"):with(60, function() ngx.exit(403) end)
      } }
      location /small { client_max_body_size 5; content_by_lua_block {
        assert(client:mutex("@path@"):acquire(60))
        ngx.req.read_body()
      } }
      location /abort { lua_check_client_abort on; content_by_lua_block {
        ngx.thread.spawn(function() ngx.req.read_body() end)
        assert(client:mutex("@path@"):acquire(60))
        ngx.sleep(30)
      } }
    ]] }
  end)

  --- Sends the head and half of the body.
  local function begin(location)
    local link = assert(socket.connect("127.0.0.1", web.port))
    link:settimeout(PATIENCE)
    link:send(("POST %s HTTP/1.0\r\nContent-Length: 10\r\n\r\n01234"):format(location))
    return link
  end

  local function answer(link)
    local text = assert(link:receive("*a"))
    link:close()
    return tonumber(text:match("^HTTP/%d%.%d (%d+)")), text:match("\r\n\r\n(.*)$")
  end

  for location, body in pairs { ["/threads"] = "10 true\n", ["/socket"] = "0123456789 true\n", ["/upstream"] = "10\n",
    ["/exec"] = "10\n" } do
    it("waits for a lock, and the rest of the body arrives before or after the grant: " .. location, function()
      for _, is_first in ipairs { true, false } do
        assert(other:acquire(here.path, PATIENCE))
        local link = begin(location)
        here:becomes(2)
        if is_first then link:send("56789") end
        assert(other:release(here.path))
        if not is_first then
          wait.eventually(function() return here:nodes()[2] == nil end)
          link:send("56789")
        end
        local status, text = answer(link)
        assert.same({ 200, body }, { status, text })
        here:becomes(0)
      end
      assert.same({}, web:errors())
    end)
  end

  it("that is too large, or that ngx.exit leaves unread, gives its lock back", function()
    assert.equal(413, (answer(begin("/small"))))
    here:becomes(0)
    local link = begin("/exit")
    link:send("56789")
    assert.equal(403, (answer(link)))
    here:becomes(0)
  end)

  it("whose client hangs up in the middle of it leaves the line, and gives its lock back", function()
    local holder = begin("/abort")
    here:becomes(1)
    local waiter = begin("/abort")
    here:becomes(2)
    waiter:close()
    here:becomes(1)
    holder:close()
    here:becomes(0)
    assert.same({}, web:errors())
  end)
end)
