-- SPDX-License-Identifier: MIT
--- tools/sanitized.sh with shells in place of instrumented programs. They write what a sanitizer writes, where its
--- options say.

local process = require "spec.support.process"
local uv = require "luv"

local REPORT = 'echo "$2" >"${%s_OPTIONS##*:log_path=}.$$"; '
local LEAK = "ERROR: LeakSanitizer: detected memory leaks"

describe("tools/sanitized.sh #once", function()
  local ENV = { LD_PRELOAD = false, ASAN_OPTIONS = "", UBSAN_OPTIONS = "", TSAN_OPTIONS = "exitcode=66" }

  --- A shell with that script. Its $1 is another script, and its $2 what a sanitizer would say.
  local function start(script, report, inner)
    return process.spawn { env = ENV, "tools/sanitized.sh", "sh", "-c", script, "sh", inner or "", report or "" }
  end

  local function ended(one)
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  it("ends as a command that reports nothing, and leaves nothing", function()
    for _, status in ipairs { 0, 7 } do
      local code, said = ended(start('echo "${ASAN_OPTIONS##*:log_path=}"; exit ' .. status))
      assert.equal(status, code)
      local folder = assert(said:match("^(/.+)/[^/]+\n$"))
      assert.is_nil(uv.fs_stat(folder))
    end
  end)

  for _, sanitizer in ipairs { "ASAN", "UBSAN", "TSAN" } do
    it("fails for a report of " .. sanitizer .. ", and shows it", function()
      local code, said = ended(start(REPORT:format(sanitizer) .. "exit 0", LEAK))
      assert.equal(1, code)
      assert.matches("^== [^\n]+\n" .. LEAK .. "\n$", said)
    end)
  end

  it("adds to the options that there are, and gives none to another sanitizer", function()
    local one = process.spawn { env = { LD_PRELOAD = false, ASAN_OPTIONS = "detect_leaks=1:exitcode=0",
      UBSAN_OPTIONS = false, TSAN_OPTIONS = false }, "tools/sanitized.sh", "sh", "-c",
      'echo "$ASAN_OPTIONS ${UBSAN_OPTIONS-none} ${TSAN_OPTIONS-none}"' }
    local code, said = ended(one)
    assert.equal(0, code)
    assert.matches("^detect_leaks=1:exitcode=0:log_path=/%S+ none none\n$", said)
  end)

  it("shows what a process of another user has reported", function()
    if uv.getuid() ~= 0 then return pending("needs root") end
    local code, said = ended(start('exec setpriv --reuid=65534 --clear-groups sh -c "$1" sh "" "$2"', LEAK,
      REPORT:format "TSAN"))
    assert.equal(1, code)
    assert.matches(LEAK, said)
  end)

  it("shows only what its own command has reported when two run at once", function()
    local first = start(REPORT:format "ASAN" .. "echo reported; read -r _", LEAK)
    assert.equal("reported", first:read_line())
    assert.same({ 0, "" }, { ended(start "true") })
    first:close_input()
    local code, said = ended(first)
    assert.equal(1, code)
    assert.matches(LEAK, said)
  end)

  it("shows the reports of a command that a signal has ended", function()
    local one = start(REPORT:format "ASAN" .. "echo reported; kill -TERM $PPID; kill -TERM $$", LEAK)
    local code, said = ended(one)
    assert.equal(1, code)
    assert.matches(LEAK, said)
  end)

  it("counts the processes at whose end LeakSanitizer has crashed, and does not fail for them", function()
    local code, said = ended(start(REPORT:format "ASAN", "Tracer caught signal 11: addr=0x0 pc=0x1 sp=0x2"))
    assert.same({ 0, "LeakSanitizer crashed at the end of 1 processes: their leaks are not known\n" }, { code, said })
    assert.equal(1, (ended(start(REPORT:format "ASAN", "Tracer caught signal 11\n" .. LEAK))))
  end)
end)
