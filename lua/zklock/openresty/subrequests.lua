--- subrequests: their ends. nginx's cleanup handlers belong to the main request; a subrequest has one place where its
--- end can be told, the handler that its maker may have set: ours goes before it.
local core = require "zklock.core"
local ffi = require "ffi"

ffi.cdef "extern char ngx_http_top_header_filter[];"

local WORDS, POINTER, ADDRESS = ffi.typeof("void **"), ffi.typeof("void *"), ffi.typeof("uintptr_t")

local subrequests = {}

--- Of a request in nginx, in words: where the pointer to its main request is. After it come, since nginx 0.7: parent,
--- postponed, post_subrequest. A main request is its own; that tells the place, whatever nginx was built with.
local main_at
local PARENT, HANDLER = 1, 3
--- Words of a request among which it is looked for: there are about 170.
local MOST = 512

local function address_of(pointer)
  return tonumber(ffi.cast(ADDRESS, ffi.cast(POINTER, pointer)))
end

--- Where nginx cannot be asked there are no subrequests (timers, TLS).
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

--- Looks at the running request, if it is a main one.
function subrequests.learn(request)
  if main_at or is_part() then return end
  main_at = find(request)
  -- What `ngx.location.capture` has begun is known by its handler when it sends its header: that has to be the former.
  if not main_at then return end
  core.spare_handlers(address_of(ffi.C.ngx_http_top_header_filter), (main_at + HANDLER) * ffi.sizeof(POINTER))
end

--- Is the running request one whose end can be told: with nginx built as it was so far?
function subrequests.is_one(request)
  if not main_at then return false end
  local words = ffi.cast(WORDS, request) + main_at
  return words[0] ~= ffi.cast(POINTER, request) and words[PARENT] ~= nil
end

--- The engine's visit of the running subrequest ends with it, not only with the main request.
function subrequests.follow(native, request)
  native:hook(address_of(ffi.cast(WORDS, request) + main_at + HANDLER))
end

return subrequests
