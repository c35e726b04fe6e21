-- SPDX-License-Identifier: MIT
--- The common parts of specs of `client:job` and `client:once`: a client for each spec whose `on_error` must not hear
--- what the spec does not expect, the mark and the lock at the spec's path, and functions for jobs.
--
--   local work = jobs.new(here)
--   before_each(function() path, client = here.path, work.client end)

local assert = require "luassert"
local busted = require "busted"
local wait = require "spec.support.wait"

local MARK = "once-2147483647"
local HOUR = 3600

local function pack(...) return { n = select("#", ...), ... } end

local work = {}
work.__index = work

--- The node that says when a run was last done.
function work:mark() return self.here.path .. "/" .. MARK end

--- Until nobody holds or waits.
function work:is_free()
  assert(self.client:flush(self.here.patience))
  self.here:eventually(function()
    local names = self.here:nodes()
    return #names == 0 or #names == 1 and names[1] == MARK
  end)
end

--- Waits until a function for a job has been called so often.
---@return table run as `jobs.sleeper` and `jobs.quick` note it
function work:hear(runs, n) return self.here:eventually(function() return runs[n or 1] end, "a run") end

--- An error went to `on_error`, as the spec expects.
function work:reported(pattern)
  local message = self.here:hear(self.errors)
  assert.truthy(message:find(pattern, 1, true), message)
  self:forget_errors()
end

function work:forget_errors() self.errors = {} end

local jobs = {}

--- For the describe that this is called in, after `fixture.new`.
---@param here fixture
function jobs.new(here)
  local self = setmetatable({ here = here, client = false, errors = {} }, work)
  busted.before_each(function()
    self:forget_errors()
    self.client = here:connect { on_error = function(message) self.errors[#self.errors + 1] = message end }
  end)
  busted.after_each(function() assert.same({}, self.errors) end)
  return self
end

--- A function for a job that notes its calls, and sleeps until it should return.
function jobs.sleeper(runs)
  return function(token, hold)
    local run = { token = token, hold = hold }
    runs[#runs + 1] = run
    run.ended = pack(hold:sleep(HOUR))
  end
end

--- A function for a job that notes its calls.
function jobs.quick(runs)
  return function(token) runs[#runs + 1] = { token = token, at = wait.now() } end
end

return jobs
