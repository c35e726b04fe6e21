-- SPDX-License-Identifier: MIT
--- loop = "luv" in a real Neovim, with examples/hosts/neovim.

local daemon = require "spec.support.daemon"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local process = require "spec.support.process"
local uv = require "luv"
local wait = require "spec.support.wait"

local EXAMPLES = uv.cwd() .. "/examples/hosts/neovim"

--- Waits for a lock while a timer of Neovim's ticks, and calls vim.api afterwards.
local API = [[
package.loaded.luv = vim.loop
local client = assert(require("zklock").connect(os.getenv("ZOOKEEPER"), { loop = "luv" }))
local lock, ticks, told = client:mutex(os.getenv("AT")), nil, nil
vim.loop.new_timer():start(5, 5, function() ticks = (ticks or 0) + 1 end)
coroutine.wrap(function()
  io.stdout:write "asks\n"
  assert(lock:acquire(60))
  local ok, err = pcall(vim.api.nvim_set_current_dir, ".")
  told = ("%s %s"):format(tostring(ok), tostring(err):match("E%d+"))
  vim.schedule(function()
    io.stdout:write(("%s; %s; %d ticks\n"):format(told, tostring((pcall(vim.api.nvim_set_current_dir, "."))), ticks))
    client:close()
    vim.cmd "qa!"
  end)
end)()
]]

daemon.describe("nvim", "neovim", "in Neovim #once #bare", function(program)
  if not lfs.attributes("build/luajit/zklock/core.so") then
    return it("needs the module for LuaJIT", function() pending("skipped: make build LUAS=luajit makes it") end)
  end
  local here = fixture.new("/shop/neovim")
  local at, env

  before_each(function()
    at = folder.new("neovim")
    env = { ZOOKEEPER = here.zk.hosts, AT = here.path, HOME = at, XDG_RUNTIME_DIR = at, LUA_INIT = false,
      LUA_PATH = ("@/lua/?.lua;@/lua/?/init.lua;;"):gsub("@", uv.cwd()),
      LUA_CPATH = uv.cwd() .. "/build/luajit/?.so;;" }
  end)

  local function start(...)
    local one = process.spawn { program, "--headless", "-u", "NONE", "-n", "-i", "NONE", cwd = EXAMPLES, env = env,
      ... }
    return here:closes(one, one.kill)
  end

  --- The option with which examples/hosts/README.md loads the script, and its value.
  local function documented()
    local option, value = file.read("examples/hosts/README.md"):match("`nvim (%-+%l+) '([^'\n]+)' FILE`")
    return assert(option, "no command line in examples/hosts/README.md"), value
  end

  it("lets timers tick during a wait, and wants vim.schedule for vim.api after it", function()
    local other = here:second_process()
    assert(other:acquire(here.path, here.patience))
    file.write(at .. "/api.lua", API)
    local editor = start("-c", "luafile " .. at .. "/api.lua")
    assert.equal("asks", (editor:read_line(here.patience)))
    here:becomes(2)
    assert(other:release(here.path))
    local line = editor:read_line(here.patience)
    assert.matches("^false E5560; true; %d+ ticks$", line)
    assert.is_true(tonumber(line:match("(%d+) ticks")) > 0)
    here:becomes(0)
    here.tree:delete_tree(here.path)
  end)

  --- An editor of a file, and what it answers to an expression.
  local function edit(name, path)
    local option, value = documented()
    local editor = start("--listen", at .. "/" .. name, option, value, path)
    return {
      name = name,
      has = function(expression)
        local one = process.spawn { program, "--server", at .. "/" .. name, "--remote-expr", expression, env = env }
        one:wait(here.patience)
        return one:stdout() .. one:stderr()
      end,
      quit = function()
        local one = process.spawn { program, "--server", at .. "/" .. name, "--remote-send", ":qa!<CR>", env = env }
        one:wait(here.patience)
        editor:wait(here.patience)
      end,
    }
  end

  it("makes a buffer read-only while another editor has its file, or once the lock is lost", function()
    local path = at .. "/text"
    file.write(path, "text\n")
    local first = edit("first", path)
    local lock
    wait.eventually(function()
      lock = (here.tree:children("/shop/neovim") or {})[1]
      return lock and #here:nodes("/shop/neovim/" .. lock) == 1
    end, here.patience, "a lock of the first editor")
    lock = "/shop/neovim/" .. lock
    local second = edit("second", path)
    local function becomes(editor, value)
      wait.eventually(function()
        local got = editor.has("&readonly")
        return got:match("^%s*(.-)%s*$") == value, got -- before it listens it answers an error
      end, here.patience, editor.name .. " readonly " .. value)
    end
    becomes(second, "1")
    becomes(first, "0")
    here:becomes(1, lock)
    here.tree:delete(here:only_node(lock))
    becomes(first, "1")
    first.quit()
    second.quit()
    here:becomes(0, lock)
  end)
end)
