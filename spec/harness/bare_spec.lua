-- SPDX-License-Identifier: MIT
--- tools/bare.sh, with a debootstrap whose system is this one's /usr, and an apt-get that installs nothing.

local folder = require "spec.support.folder"
local loop = require "spec.support.loop"
local process = require "spec.support.process"
local uv = require "luv"

local PATIENCE = require("spec.support.wait").PATIENCE

local DEBOOTSTRAP = [[
#!/bin/sh
[ -z "$FAILS" ] || { echo "no such mirror: $4"; exit 1; }
cd "$3" || exit 1
mkdir -p usr etc/apt/apt.conf.d proc dev tmp root
mount --rbind /usr usr && mount -t tmpfs tmpfs usr/local && mkdir usr/local/bin || exit 1
printf '#!/bin/sh\nexit 0\n' >usr/local/bin/apt-get
chmod 755 usr/local/bin/apt-get
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
]]

local APT_GET = [[
#!/bin/sh
echo "Debian|deb http://mirror.test/debian/ $(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release) main"
]]

local function is_possible()
  if uv.getuid() ~= 0 then return false end
  return process.spawn({ "unshare", "--mount", "--pid", "--fork", "--propagation", "private", "true" }):wait() == 0
end

describe("tools/bare.sh #once", function()
  local stubs, tmp

  local function write(name, text)
    local file = assert(io.open(name, "wb"))
    file:write(text)
    file:close()
    process.spawn({ "chmod", "755", name }):wait()
  end

  before_each(function()
    stubs, tmp = folder.new("stubs"), folder.new("bare")
    write(stubs .. "/debootstrap", DEBOOTSTRAP)
    write(stubs .. "/apt-get", APT_GET)
    write(stubs .. "/apt-config", "#!/bin/sh\n")
  end)

  after_each(function()
    folder.remove(stubs)
    folder.remove(tmp)
  end)

  local function start(env, ...)
    local all = { PATH = stubs .. ":" .. os.getenv("PATH"), TMPDIR = tmp, LD_PRELOAD = false }
    for name, value in pairs(env) do all[name] = value end
    return process.spawn { "tools/bare.sh", env = all, ... }
  end

  local function read(path)
    local file = io.open(path, "rb")
    local text = file and file:read("*a") or ""
    if file then file:close() end
    return text
  end

  local function is_running(words)
    local names = assert(uv.fs_scandir("/proc"))
    for name in function() return uv.fs_scandir_next(names) end do
      if name:find "^%d+$" and read("/proc/" .. name .. "/cmdline"):gsub("%z", " ") == words .. " " then
        return true
      end
    end
    return false
  end

  --- Neither files nor mounts nor processes.
  local function leaves_nothing(words)
    assert.is_nil(uv.fs_scandir_next(assert(uv.fs_scandir(tmp))))
    assert.is_nil(read("/proc/self/mountinfo"):find(tmp, 1, true))
    assert.is_false(words and is_running(words) or false)
  end

  it("runs each command in a clone, and fails when one of them fails", function()
    if not is_possible() then return pending("only root can make a chroot, and only where it may mount") end
    local run = start({}, "test -e Makefile", "test -e build", "test -z \"$TMPDIR\"")
    assert.equal(1, (run:wait(PATIENCE)))
    assert.equal("ok      test -e Makefile\nFAILED  test -e build\nok      test -z \"$TMPDIR\"\n", run:stdout())
    leaves_nothing()
  end)

  it("succeeds when all of them do", function()
    if not is_possible() then return pending("only root can make a chroot, and only where it may mount") end
    local run = start({}, "true")
    assert.same({ 0, "ok      true\n" }, { (run:wait(PATIENCE)), run:stdout() })
    leaves_nothing()
  end)

  it("shares the folder that BARE_WITH names", function()
    if not is_possible() then return pending("only root can make a chroot, and only where it may mount") end
    write(stubs .. "/given", "a package\n")
    local run = start({ BARE_WITH = stubs }, "cp /root/with/given /root/with/taken")
    assert.same({ 0, "ok      cp /root/with/given /root/with/taken\n" }, { (run:wait(PATIENCE)), run:stdout() })
    assert.equal("a package\n", read(stubs .. "/taken"))
    leaves_nothing()
  end)

  it("leaves nothing when the system cannot be made", function()
    if not is_possible() then return pending("only root can make a chroot, and only where it may mount") end
    local run = start({ FAILS = "yes" }, "true")
    assert.equal(1, (run:wait(PATIENCE)))
    assert.matches("no such mirror: http://mirror.test/debian/\n.*debootstrap failed", run:stderr())
    leaves_nothing()
  end)

  local ends = {
    ["when its time is over"] = { env = { BARE_LIMIT = "3" } },
    ["when it is told to end"] = { env = {}, signal = "sigterm" },
  }
  for title, how in pairs(ends) do
    it("ends what runs there, and leaves nothing, " .. title, function()
      if not is_possible() then return pending("only root can make a chroot, and only where it may mount") end
      local words = ("sleep 1%d"):format(uv.os_getpid())
      local run = start(how.env, words)
      loop.poll(function() return is_running(words) or not run:is_running() end, PATIENCE)
      if how.signal then assert.is_true(run:signal(how.signal), run:stderr()) end
      assert.is_true(run:wait(PATIENCE) > 0)
      leaves_nothing(words)
    end)
  end
end)
