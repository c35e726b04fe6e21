-- SPDX-License-Identifier: MIT
--- Follows a counter by a watch, and complains of what no watch may do: a state that is older than one before it, or
-- that never was; a call after the end; the latest state that is not told.

local follower = {}
follower.__index = follower

local TURN = 0.05 -- seconds

--- Its own, not the client's: what is told is of whom it was told to.
local function call(self, watch, data, stat)
  self.told()
  if watch.over then self.complain("a watch of %s was told after its end", self.path) end
  if not data then
    if stat ~= "no node" then self.complain("a watch of %s was told %s", self.path, tostring(stat)) end
    if watch.mzxid > 0 then self.complain("a watch of %s was told of no node", self.path) end -- nobody deletes it
    return
  end
  if stat.mzxid <= watch.mzxid then
    self.complain("a watch of %s was told of %d after %d", self.path, stat.mzxid, watch.mzxid)
  end
  if tonumber(data) ~= stat.version then
    self.complain("a watch of %s was told of %s as version %d", self.path, data, stat.version)
  end
  watch.mzxid = stat.mzxid
end

local function begin(self)
  local watch = { mzxid = 0 }
  local handle, err = self.client:watch(self.path, function(data, stat) call(self, watch, data, stat) end)
  if not handle then self.complain("a watch of %s answered %s", self.path, err) end
  watch.handle = handle
  self.watch = watch
end

---@param client zklock.Client
---@param path string of a node whose data is its version, and which nobody deletes
---@param complain fun(text: string, ...)
---@param told fun() is called with each state
function follower.new(client, path, complain, told)
  local self = setmetatable({ client = client, path = path, complain = complain, told = told }, follower)
  begin(self)
  return self
end

--- Stops, and begins anew: what comes then may be what was told before.
function follower:again()
  self.watch.over = true
  self.watch.handle:stop()
  begin(self)
end

--- The client is closed.
function follower:ended() self.watch.over = true end

--- Waits until what is the latest now has been told.
---@param seconds number
function follower:catch_up(seconds)
  local ok, err = self.client:sync(seconds)
  if not ok then return self.complain("sync answered %s although nothing is broken", err) end
  local data, stat = self.client:get(self.path, seconds)
  if not data then
    if stat ~= "no node" then self.complain("reading a counter answered %s although nothing is broken", stat) end
    return
  end
  for _ = 1, seconds / TURN do
    if self.watch.mzxid >= stat.mzxid then return end
    self.client:poll(TURN)
  end
  self.complain("a watch of %s was not told of %d, but of %d", self.path, stat.mzxid, self.watch.mzxid)
end

return follower
