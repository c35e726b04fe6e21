-- SPDX-License-Identifier: MIT
--- Which deaths `make fuzz` takes for known ones of libzookeeper: fuzz/known.sh.

local folder = require "spec.support.folder"
local process = require "spec.support.process"

local SEGV = "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1 bp 0x2 sp 0x3 T1)\n"
local SIGNAL = "==1== ERROR: libFuzzer: deadly signal\n"
local OVERFLOW = "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1 at pc 0x2 bp 0x3 sp 0x4\n"

--- A thread's stack: "FUNCTION FILE", from the innermost on.
local function stack(...)
  local lines = {}
  for i, frame in ipairs { ... } do
    local name, where = frame:match("(%S+) (%S+)")
    lines[i] = ("    #%d 0x5581a0 in %s %s\n"):format(i - 1, name, where)
  end
  return lines
end

--- Line by line, as two threads write that report at once.
local function mixed(a, b)
  local lines = {}
  for i = 1, math.max(#a, #b) do lines[#lines + 1] = (a[i] or "") .. (b[i] or "") end
  return table.concat(lines)
end

local KNOWN = stack("__interceptor_free asan_malloc_linux.cpp:52", "deallocate_Buffer /src/recordio.c:65",
  "zookeeper_process /src/zookeeper.c:2800", "start_thread nptl/pthread_create.c:442")
local OURS = stack("zkl_line_grant /src/csrc/line/line.c:77", "do_completion /src/mt_adaptor.c:1",
  "start_thread nptl/pthread_create.c:442")
local NEW = stack("free_duplicate_path /src/zookeeper.c:1", "zookeeper_process /src/zookeeper.c:2800",
  "start_thread nptl/pthread_create.c:442", "clone3 misc/clone3.S:81")
local CALLED = stack("strlen libc.so.6", "zkl_outgoing_request_is_made /z/csrc/zookeeper/outgoing_request.c:105",
  "string_completion /z/csrc/zookeeper/operations.c:12", "deserialize_response /src/zookeeper.c:2500",
  "process_completions /src/zookeeper.c:2600", "start_thread nptl/pthread_create.c:442")
local ASSERTION = "stream: /build/zookeeper-client-c/src/zookeeper.c:99: zookeeper_process: Assertion `cptr' failed.\n"

describe("fuzz/known.sh #once", function()
  --- The function of a known death; or nil.
  local function known(log)
    local run = process.spawn { "fuzz/known.sh", folder.file("log", log) }
    return run:wait() == 0 and run:stdout():match("^(.-)\n") or nil
  end

  it("knows a death of libzookeeper by the first function that is not libc's", function()
    assert.equal("deallocate_Buffer", known(OVERFLOW .. table.concat(KNOWN)))
    assert.is_nil(known(OVERFLOW .. table.concat(NEW)))
  end)

  it("does not know a death in a function of ours", function()
    assert.is_nil(known(SEGV .. table.concat(OURS)))
  end)

  it("knows a function of ours that libzookeeper calls with a pointer to nowhere", function()
    assert.equal("zkl_outgoing_request_is_made", known(SEGV .. table.concat(CALLED)))
    assert.is_nil(known(OVERFLOW .. table.concat(CALLED)))
  end)

  it("knows it with a pointer to what was freed, and does not know others with that", function()
    local freed = "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60d000009690 at pc 0x557e565b255d\n"
    assert.equal("zkl_outgoing_request_is_made", known(freed .. table.concat(CALLED)))
    assert.is_nil(known(freed .. table.concat(OURS)))
  end)

  it("takes no function of the C library for a new death, if the sanitizer has put its own there", function()
    local compared = stack("strncmp (/build/fuzz/stream+0x12e3a0)",
      "zkl_outgoing_request_is_made /z/csrc/zookeeper/o.c:1", "deserialize_response libzkmt_la-zookeeper.o",
      "start_thread nptl/pthread_create.c:442")
    assert.equal("zkl_outgoing_request_is_made", known(SEGV .. table.concat(compared)))
  end)

  it("knows a death while another thread reports line by line between", function()
    assert.equal("deallocate_Buffer", known(SIGNAL .. SIGNAL .. mixed(OURS, KNOWN)))
    assert.equal("deallocate_Buffer", known(SIGNAL .. SIGNAL .. mixed(KNOWN, OURS)))
    assert.equal("deallocate_Buffer", known(SIGNAL .. table.concat(OURS) .. SIGNAL .. table.concat(KNOWN)))
    assert.equal("zkl_outgoing_request_is_made", known(SEGV .. mixed(NEW, CALLED)))
    assert.is_nil(known(SIGNAL .. SIGNAL .. mixed(OURS, NEW)))
  end)

  it("knows an assertion that failed while another thread reports", function()
    assert.equal("zookeeper_process", known(ASSERTION))
    assert.equal("zookeeper_process", known(ASSERTION .. SIGNAL .. table.concat(OURS)))
  end)

  it("does not know a death by where the memory was freed, allocated or lost", function()
    local where = "freed by thread T1 here:\n" .. table.concat(KNOWN)
    assert.is_nil(known(OVERFLOW .. table.concat(OURS) .. where))
    assert.is_nil(known("==1==ERROR: LeakSanitizer: detected memory leaks\n" .. table.concat(KNOWN)))
  end)
end)
