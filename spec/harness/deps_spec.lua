-- SPDX-License-Identifier: MIT
--- tools/deps.sh, as root, with an apt-get that installs nothing: what it leaves to the machine.

local folder = require "spec.support.folder"
local process = require "spec.support.process"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local NGINX, OTHER = "nginx start", "--quiet cron.service start"

-- An apt-get that asks the policy what it may do to services; then it ends, or is killed with all who wait for it.
local APT_GET = [[
#!/bin/sh
case " $* " in
*" -s "* | *" update "*) exit 0 ;;
esac
echo "install $*"
for service in "nginx start" "nginx.service restart" "redis-server start" "etcd start" "--quiet cron.service start"; do
    "$POLICY_RC_D" $service
    echo "$service: $?"
done
[ -z "$KILLS" ] || kill -9 $PPID
[ -n "$GO_ON" ] || exit 0
while [ ! -e "$GO_ON" ]; do sleep 0.05; done
echo "installed libzookeeper-mt-dev" >>"$INSTALLED"
]]

-- apt-get's own lock, of which `update` does not wait for that of the lists.
local LOCKED = [[
#!/bin/sh
case " $* " in
*" -s "*) exit 100 ;;
*" update "*)
  [ -e "$POLICY_RC_D.tried" ] && exit 0
  : >"$POLICY_RC_D.tried"
  echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)" >&2
  exit 100 ;;
*" DPkg::Lock::Timeout=600 "*) [ -e "$POLICY_RC_D.tried" ] ;;
*) exit 100 ;;
esac
]]

describe("tools/deps.sh #once", function()
  local stubs, policy

  local function write(name, text)
    local file = assert(io.open(name, "wb"))
    file:write(text)
    file:close()
    process.spawn({ "chmod", "755", name }):wait()
  end

  local function read(name)
    local file = io.open(name, "rb")
    local text = file and file:read("*a")
    if file then file:close() end
    return text
  end

  before_each(function()
    stubs = folder.new("deps")
    policy = stubs .. "/policy-rc.d"
    write(stubs .. "/apt-get", APT_GET)
    write(stubs .. "/id", "#!/bin/sh\necho 0\n")
    write(stubs .. "/dpkg-query", '#!/bin/sh\ncat "$INSTALLED"\n')
    write(stubs .. "/installed", "") -- nothing is
  end)

  local function start(goal, env)
    env.POLICY_RC_D, env.INSTALLED, env.DEPS_LOCK = policy, stubs .. "/installed", stubs
    env.PATH = stubs .. ":" .. os.getenv("PATH")
    return process.spawn { "sh", "tools/deps.sh", goal, env = env }
  end

  local function finish(one)
    local code, signal = one:wait()
    return { code = code, signal = signal, said = one:stderr() .. one:stdout() }
  end

  local function install(kills, goal)
    return finish(start(goal or "demo", { KILLS = kills or "" }))
  end

  local function answer(words)
    return (process.spawn({ "sh", "-c", '"$0" ' .. words, policy }):wait())
  end

  it("says what it is going to install, and how to leave that alone", function()
    local result = install()
    assert.equal(0, result.code)
    local announced = assert(result.said:find("going to install with apt%-get[^\n]*DEPS=[^\n]*libzookeeper%-mt%-dev"))
    assert.is_true(announced < assert(result.said:find("install -y", 1, true)))
  end)

  it("says what it is for", function()
    assert.matches("going to install with apt%-get for make demo ", install().said)
  end)

  it("brings nginx where nginx is used", function()
    for goal, uses in pairs { test = true, soak = true, bench = true, asan = true, demo = false, lint = false } do
      local said = install(nil, goal).said
      assert.equal(uses, said:find("libnginx-mod-http-lua", 1, true) ~= nil, goal .. ": " .. said)
    end
  end)

  it("keeps the services of what it installs, and nothing else, from being started meanwhile", function()
    local result = install()
    for service, code in pairs { [NGINX] = 101, ["nginx.service restart"] = 101, ["redis-server start"] = 101,
      ["etcd start"] = 101, [OTHER] = 0 } do
      assert.is_truthy(result.said:find(("%s: %d\n"):format(service, code), 1, true), result.said)
    end
    assert.is_nil(read(policy))
  end)

  it("forbids nothing once it was killed, and its next run cleans up", function()
    assert.equal(9, install("yes").signal)
    assert.is_string(read(policy))
    assert.same({ 0, 0 }, { answer(NGINX), answer(OTHER) })
    local result = install()
    assert.is_truthy(result.said:find(NGINX .. ": 101\n", 1, true), result.said)
    assert.is_nil(read(policy))
  end)

  it("waits for another one, and installs what that did not", function()
    local go_on = stubs .. "/go-on"
    local first = start("demo", { GO_ON = go_on })
    wait.eventually(function() return first:stderr():find("cron", 1, true) end, PATIENCE, "an install on its way")
    local second = start("random", {})
    wait.eventually(function() return second:stderr():find("waiting for it", 1, true) end, PATIENCE, "the other's word")
    assert.is_nil(second:stderr():find("going to install", 1, true))
    assert.equal(101, answer(NGINX))
    write(go_on, "")
    assert.equal(0, finish(first).code)
    local result = finish(second)
    assert.equal(0, result.code)
    assert.matches("install %-y[^\n]* libc6%-dev", result.said)
    assert.is_nil(result.said:find("libzookeeper-mt-dev", 1, true), result.said)
    assert.is_truthy(result.said:find(NGINX .. ": 101\n", 1, true), result.said)
    assert.is_nil(read(policy))
  end)

  it("waits for whoever else has apt-get's locks", function()
    write(stubs .. "/apt-get", LOCKED)
    local result = install()
    assert.equal(0, result.code, result.said)
  end)

  it("leaves a policy of the machine's own alone", function()
    local own = "#!/bin/sh\nexit 104\n"
    write(policy, own)
    local result = install()
    assert.is_truthy(result.said:find(NGINX .. ": 104\n", 1, true), result.said)
    assert.equal(own, read(policy))
  end)
end)
