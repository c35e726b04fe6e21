-- SPDX-License-Identifier: MIT
--- subrequests: notices when a subrequest ends. nginx's cleanup handlers belong to the main
--- request. A subrequest has a single handler for its end, which its creator may have set; ours
--- runs before it.
local core = require "zklock.core"
local ffi = require "ffi"

ffi.cdef "extern char ngx_http_top_header_filter[];"

local WORDS, POINTER, ADDRESS = ffi.typeof("void **"), ffi.typeof("void *"), ffi.typeof("uintptr_t")

local hook = ffi.cast("void (*)(void *, void *)", core.visit_calls().hook)

local subrequests = {}

--- The offset, in words, of the pointer to the main request in nginx's request. After it come,
--- since nginx 0.7: parent, postponed, post_subrequest. In a main request it points to the request
--- itself; that reveals the offset, however nginx was built.
local main_at
local PARENT, HANDLER = 1, 3
--- How many words to search. A request has about 170.
local MOST = 512

local function address_of(pointer)
  return tonumber(ffi.cast(ADDRESS, ffi.cast(POINTER, pointer)))
end

--- Phases in which nginx raises on the question (timers, TLS) have no subrequests.
local function is_part()
  local ok, is_it = pcall(function() return ngx.is_subrequest end)
  return ok and is_it
end

local function find(request)
  local words, own = ffi.cast(WORDS, request), ffi.cast(POINTER, request)
  for at = 0, MOST do
    if words[at] == own then return words[at + PARENT] == nil and at or nil end
  end
  return nil
end

--- Finds the offset in the running request, if that is a main one.
function subrequests.learn(request)
  if main_at or is_part() then return end
  main_at = find(request)
  -- When a subrequest of `ngx.location.capture` sends its header, lua-nginx-module recognizes it by
  -- its handler: at that moment the former handler has to be there.
  if not main_at then return end
  core.spare_handlers(address_of(ffi.C.ngx_http_top_header_filter), (main_at + HANDLER) * ffi.sizeof(POINTER))
end

--- True if the running request is a subrequest whose end the engine can notice.
function subrequests.is_one(request)
  if not main_at then return false end
  local words = ffi.cast(WORDS, request) + main_at
  return words[0] ~= ffi.cast(POINTER, request) and words[PARENT] ~= nil
end

--- The engine's visit ends when the running subrequest ends, not only when the main request does.
function subrequests.follow(native, request)
  hook(native, ffi.cast(WORDS, request) + main_at + HANDLER)
end

return subrequests
