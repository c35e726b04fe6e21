-- SPDX-License-Identifier: MIT
-- A flash sale: eight processes sell a stock of 200, first without a lock, then with zklock.
--
--   make demo

local here = arg[0]:match("^(.*)/") or "."
package.path = here .. "/?.lua;" .. package.path
local uv = require "luv"
local shop = require "shop"
local zookeeper = require "zookeeper"

local STOCK, BUYERS = 200, 8 -- the text below says eight

-- Looks ---------------------------------------------------------------------------------------------------------------

local terminal = uv.guess_handle(1) == "tty" and os.getenv("TERM") ~= "dumb"
local colours = terminal and not os.getenv("NO_COLOR")
local utf8 = (os.getenv("LC_ALL") or os.getenv("LC_CTYPE") or os.getenv("LANG") or ""):lower():find("utf%-?8")
local FULL, EMPTY, RULE = "#", ".", "-"
if utf8 then
  FULL, EMPTY, RULE = "█", "░", "─"
end

local function paint(code)
  return function(text)
    return colours and ("\27[%sm%s\27[0m"):format(code, text) or text
  end
end
local bold, red, green = paint "1", paint "1;31", paint "1;32"

local last_shown

local function say(...)
  io.write(terminal and "\r\27[K" or "", string.format(...), "\n")
  io.flush()
  last_shown = uv.hrtime() / 1e9
end

-- The line that says how far it is: kept up to date on a terminal, else once a second.
local function show(...)
  local now = uv.hrtime() / 1e9
  if terminal then
    io.write("\r\27[K", string.format(...))
  elseif now - last_shown >= 1 then
    io.write(string.format(...), "\n")
    last_shown = now
  end
  io.flush()
end

local function bar(stock, sold)
  local width = 30
  local full = math.floor(width * (STOCK - stock) / STOCK)
  local count = ("%4d sold"):format(sold)
  return ("     %s%s  stock %3d  %s"):format(FULL:rep(full), EMPTY:rep(width - full), stock,
    sold > STOCK and red(count) or count)
end

-- Waiting and children ------------------------------------------------------------------------------------------------

local folder
local children = {} -- those that run
local interrupted

local function on_signal(name, fn)
  local signal = uv.new_signal()
  signal:start(name, fn)
  signal:unref()
end

for _, name in ipairs { "sigint", "sigterm", "sighup" } do
  on_signal(name, function()
    interrupted = name
  end)
end
on_signal("sigpipe", function() end) -- a write that fails must not end us before we have cleaned up

-- Callbacks only note what happened; everything else is decided here, between two turns of the loop.
local ticker = uv.new_timer()
ticker:start(50, 50, function() end)

local function wait(condition, step)
  while not condition() do
    uv.run("once")
    if interrupted then
      error(interrupted, 0)
    end
    if step then
      step()
    end
  end
end

-- Out of reach of the terminal's Ctrl-C, which is for us; and if we are killed, the kernel kills them.
local function spawn(command, on_line)
  local child = { errors = folder .. "/stderr" }
  local out = uv.new_pipe()
  local err = assert(uv.fs_open(child.errors, "a", tonumber("600", 8)))
  local handle
  handle, child.pid = uv.spawn("setpriv", {
    args = { "--pdeathsig", "KILL", "--", table.unpack(command) },
    stdio = { nil, out, err },
    detached = true,
  }, function(status, signal)
    child.status, child.signal = status, signal
    children[child] = nil
    handle:close()
  end)
  uv.fs_close(err)
  assert(handle, child.pid)
  children[child] = true
  local text = ""
  out:read_start(function(_, chunk)
    text = text .. (chunk or "")
    text = text:gsub("([^\n]*)\n", function(line)
      if on_line then
        on_line(child, line)
      end
      return ""
    end)
    if not chunk then
      child.silent = true
      out:close()
    end
  end)
  return child
end

local function failed(child, what)
  local file = io.open(child.errors)
  local errors = file and file:read("a") or ""
  if file then
    file:close()
  end
  error(("%s ended with status %d\n%s"):format(what, child.status, errors), 0)
end

local function clean_up()
  for child in pairs(children) do
    uv.kill(child.pid, "sigkill")
  end
  while next(children) do
    uv.run("once")
  end
  if folder then
    os.execute("rm -rf '" .. folder .. "'")
  end
end

-- The sale ------------------------------------------------------------------------------------------------------------

local function start_server()
  for _ = 1, 3 do -- somebody else may have taken the free port
    local command, port = zookeeper.prepare(folder)
    local server, reply, began = spawn(command), {}, uv.hrtime()
    wait(function()
      return reply.ok or server.status
    end, function()
      local seconds = (uv.hrtime() - began) / 1e9
      show("  Starting a ZooKeeper server, for this demo only: %.1f s", seconds)
      zookeeper.ask(port, reply)
      if seconds > 40 then
        error("the ZooKeeper server does not answer", 0)
      end
    end)
    if not server.status then
      say("  Started a ZooKeeper server, for this demo only, in %.1f s.", (uv.hrtime() - began) / 1e9)
      return "127.0.0.1:" .. port
    end
    if server.status ~= 1 then
      failed(server, "the ZooKeeper server")
    end
  end
  error("the ZooKeeper server does not start", 0)
end

-- Sells until all buyers are done. With `hosts` they use the lock, and one is killed half-way, while it has the lock.
local function sale(name, hosts)
  local path = ("%s/%s.db"):format(folder, name)
  local item = shop.create(path, STOCK)
  local result = {}
  local buyers, sold, victim = {}, 0, nil

  local function heard(buyer, line)
    local paying = line:match("^paying (%d+)$")
    if paying and victim and victim.killed and buyer ~= victim and not result.waited then
      result.waited = (tonumber(paying) - victim.killed) / 1e9
    elseif paying and hosts and not victim and sold >= STOCK / 2 then
      uv.kill(buyer.pid, "sigkill")
      buyer.killed = uv.hrtime()
      victim = buyer
    elseif line == "sold" then
      sold = sold + 1
    end
    buyer.last = line
  end

  local began = uv.hrtime()
  for number = 1, BUYERS do
    buyers[number] = spawn({ uv.exepath(), here .. "/buyer.lua", number, path, hosts }, heard)
    buyers[number].number = number
  end

  local told_kill, told_wait
  wait(function()
    for _, buyer in ipairs(buyers) do
      if not buyer.status or not buyer.silent then
        return false
      end
    end
    return true
  end, function()
    if victim and not told_kill then
      told_kill = true
      say("%s", bar(item:stock(), item:sold()))
      say("     Buyer %d is killed (SIGKILL) while it has the lock.", victim.number)
    end
    if result.waited and not told_wait then
      told_wait = true
      say("     The next had the lock %.1f s later, when ZooKeeper had given up the dead one's session.", result.waited)
    end
    show("%s%s", bar(item:stock(), item:sold()),
      victim and not result.waited and ("   the others wait: %.1f s"):format((uv.hrtime() - victim.killed) / 1e9) or "")
    for _, buyer in ipairs(buyers) do
      if buyer.status and buyer ~= victim and (buyer.status ~= 0 or buyer.signal ~= 0) then
        failed(buyer, "buyer " .. buyer.number)
      end
    end
  end)

  result.seconds = (uv.hrtime() - began) / 1e9
  result.stock, result.sold = item:stock(), item:sold()
  result.killed = victim and 1 or 0
  result.inside = victim and victim.last:find("^paying") ~= nil
  item:close()
  say("%s", bar(result.stock, result.sold))
  return result
end

local function report(without, with)
  local function row(title, format, left, right)
    local function cell(value)
      return value and format:format(value) or "-"
    end
    say("  %-24s%16s%16s", title, cell(left), cell(right))
  end
  local function oversold(result)
    return result.sold - STOCK
  end
  say("")
  say("  %-24s%16s%16s", "", "without a lock", "with zklock")
  say("  %s", RULE:rep(56))
  row("in stock at the start", "%d", STOCK, STOCK)
  row("orders in the database", "%d", without.sold, with.sold)
  say("%s%s%s", bold("  oversold by             "), red(("%16d"):format(oversold(without))),
    (oversold(with) == 0 and green or red)(("%16d"):format(oversold(with))))
  row("in stock at the end", "%d", without.stock, with.stock)
  row("buyers killed", "%d", without.killed, with.killed)
  row("the others waited", "%.1f s", nil, with.waited)
  row("took", "%.1f s", without.seconds, with.seconds)
  say("")
end

local function main()
  folder = assert(uv.fs_mkdtemp((os.getenv("TMPDIR") or "/tmp") .. "/zklock-demo.XXXXXX"))
  say("")
  say("%s", bold("  A flash sale"))
  say("")
  say("  There are %d of item 42, in a SQLite database. Eight buyers, each a process of its own,", STOCK)
  say("  sell them: read the stock, pay, then write the stock, one less, and an order.")
  say("")
  local hosts = start_server()
  say("")
  say("%s", bold("  1. Without a lock"))
  local without = sale("without", nil)
  say("")
  say("%s", bold("  2. With zklock"))
  local with = sale("with", hosts)
  report(without, with)
  if without.sold <= STOCK then
    return false, "strange: it did not oversell without the lock"
  elseif with.sold ~= STOCK or with.stock ~= 0 then
    return false, "WRONG: with the lock, not exactly " .. STOCK .. " were sold"
  elseif not with.inside or not with.waited then
    return false, "the killed buyer had just let go of the lock; run it again"
  end
  return true
end

local ran, right, complaint = xpcall(main, function(err)
  return interrupted and err or type(err) == "string" and err or debug.traceback(err)
end)
if interrupted then
  say("  interrupted")
end
clean_up()
if interrupted then
  os.exit(130)
elseif not ran then
  say("  %s", right)
elseif not right then
  say("  %s", complaint)
end
os.exit(ran and right)
