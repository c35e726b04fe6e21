-- SPDX-License-Identifier: MIT
--- Calls that may wait in nginx's phases of a TLS handshake.

local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("a TLS handshake in nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

describe("a TLS handshake in nginx", function()
  local here = fixture.new("/nginx-ssl")
  local tree, web, dir, port, path

  setup(function()
    tree = here.tree
    dir = folder.new("certificate")
    local key = process.spawn { "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-keyout", dir .. "/key.pem", "-out", dir .. "/cert.pem", env = process.PLAIN }
    assert.equal(0, (key:wait()))
  end)

  before_each(function() path = here.path end)

  --- An nginx whose `/` tells what a handler has set, who holds and who waits.
  local function start(http, in_server)
    port = require("spec.support.port").free()
    web = here:nginx { workers = 1, values = { tls = port, dir = dir },
      http = nginx.CLIENT .. http .. [[
        server {
          listen 127.0.0.1:@tls@ ssl;
          ssl_certificate @dir@/cert.pem;
          ssl_certificate_key @dir@/key.pem;
          ssl_session_tickets off;
          ssl_session_cache shared:sessions:1m;
      ]] .. in_server .. [[
          location / { content_by_lua_block { ngx.say("served") } }
        }
      ]], server = [[
        location / { content_by_lua_block {
          ngx.say(ngx.shared.counts:get("seen"), " ", client:stats().held, " ", client:stats().waiting)
        } }
      ]] }
  end

  --- A handshake and a request. With `out` it keeps the session, and the next one shows it.
  ---@return boolean served
  local function shake_hands(options)
    local child = process.spawn { "sh", "-c", [[printf 'GET / HTTP/1.0\r\n\r\n' | openssl s_client "$@"]], "sh",
      "-quiet", "-tls1_2", "-connect", "127.0.0.1:" .. port,
      options and options.out and "-sess_out" or "-sess_in", dir .. "/session", env = process.PLAIN }
    child:wait()
    return child:stdout():find("served", 1, true) ~= nil
  end

  local function seen()
    return (select(2, web:get("/")))
  end

  it("waits in ssl_certificate", function()
    start("", [[
      ssl_certificate_by_lua_block {
        local lock = client:mutex("@path@")
        ngx.shared.counts:set("seen", ngx.get_phase() .. " " .. tostring(lock:acquire(60) ~= nil))
      }
    ]])
    assert.is_true(shake_hands { out = true })
    here:becomes(0)
    assert.equal("ssl_cert true 0 0\n", seen())
    assert.same({}, web:errors())
  end)

  -- OpenResty's patches of OpenSSL and of nginx, which Debian's have not, are what lets these two wait.
  it("says in ssl_session_fetch where it cannot wait, and requests", function()
    start([[
      ssl_session_fetch_by_lua_block {
        local lock = client:mutex("@path@")
        local token, err = lock:acquire(60)
        zklock.kept = client:mutex("@path@-2"):request(60, function() end)
        local said = ("%s %s %s"):format(ngx.get_phase(), token and "true" or err, zklock.kept:state())
        ngx.shared.counts:set("seen", said)
      }
    ]], "")
    assert.is_true(shake_hands { out = true })
    assert.is_true(shake_hands())
    local text = seen()
    if text:find("true", 1, true) then
      assert.matches("^ssl_session_fetch true waiting", text)
    else
      assert.matches("^ssl_session_fetch cannot wait in phase ssl_session_fetch waiting", text)
    end
    wait.eventually(function() return seen():find("1 0\n$") end)
    assert.equal(1, #tree:children(path .. "-2"))
    assert.same({}, web:errors())
  end)

  it("waits in ssl_client_hello where nginx lets it, and otherwise leaves nothing behind", function()
    local function try(what)
      start("", "ssl_client_hello_by_lua_block { " .. what .. " }")
      local served = shake_hands { out = true }
      if served then wait.eventually(function() return seen():find("0 0\n$") end) end
      here:becomes(0)
      assert.matches("0 0\n$", seen())
      assert.same({}, web:errors())
      web:stop()
      web = nil
      return served
    end
    assert.is_true(try [[ client:mutex("@path@"):request(5, function() end):cancel() ]])
    assert.equal(try "ngx.sleep(0.001)", try [[ assert(client:mutex("@path@"):acquire(60)) ]])
  end)
end)
