-- SPDX-License-Identifier: MIT
--- The alerts of examples/monitoring on the series of its two workers, which have a job: for promtool, what has grown
--- between two scrapes goes on to grow for an hour. An age grows from each scrape to the next, because a scrape has the
--- ages of its own moment, whenever the workers have written them.

local files = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local monitoring = require "spec.support.monitoring"
local process = require "spec.support.process"
local uv = require "luv"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local INTERVAL, HOUR = 15, 3600

--- A caller that waits for a lock while another one holds it, beside the job.
local QUEUE = [[
  location = /queue { content_by_lua_block {
    ngx.timer.at(0, function()
      local stock = require("locks").stock
      assert(stock:acquire(nil, "holder"))
      stock:acquire(nil, "waiter")
    end)
  } }
]]

-- Prometheus has promtool: `make slow` installs it.
describe("the alerts on what two workers with a job count #flood", function()
  local here = fixture.new("/monitoring-example")
  local web

  local function start()
    web = monitoring.example { hosts = here.zk.hosts, locations = QUEUE }
    here:closes(web, web.stop)
  end

  --- The values of all series now.
  ---@return table<string, number> values
  ---@return number seconds when
  local function scrape()
    local status, body = web:get("/metrics")
    assert.equal(200, status)
    local values = {}
    for series, value in body:gmatch("\n(zklock_[^\n]*) (%S+)") do values[series] = tonumber(value) end
    return values, uv.hrtime() / 1e9
  end

  --- Waits until the series has the value.
  local function becomes(series, value)
    wait.eventually(function()
      local now = scrape()[series]
      return now == value, ("%s: %s"):format(series, tostring(now))
    end, PATIENCE, series)
  end

  --- Two scrapes, between which the age of what the job does has grown if anything shows it.
  local function two_scrapes()
    local first, since = scrape()
    local second, now
    wait.eventually(function()
      second, now = scrape()
      return now - since > 0.3
    end, PATIENCE)
    return first, second, now - since
  end

  --- The series as promtool reads them. A validity that has fallen would rise again, so nothing goes on to fall.
  local function series_of(first, second, seconds)
    local lines = {}
    for series, value in pairs(second) do
      local growth = math.max(0, value - (first[series] or value)) / seconds * INTERVAL
      local labelled = series:find("{", 1, true) and series:gsub("}$", ',instance="a"}') or series .. '{instance="a"}'
      lines[#lines + 1] = ("      - { series: '%s', values: '%.6f+%.6fx%d' }"):format(labelled, value, growth,
        HOUR / INTERVAL)
    end
    return table.concat(lines, "\n")
  end

  --- The alerts that fire in the end, as promtool writes them in its complaint that none was expected.
  local function firing()
    local first, second, seconds = two_scrapes()
    local dir = folder.new("alerts")
    files.write(dir .. "/alerts.yml", files.read(monitoring.EXAMPLE .. "alerts.yml"))
    files.write(dir .. "/test.yml", ([[
rule_files: [alerts.yml]
evaluation_interval: %ds
tests:
  - interval: %ds
    input_series:
%s
    promql_expr_test:
      - { expr: 'count by (alertname, lock) (ALERTS{alertstate="firing"})', eval_time: 50m, exp_samples: [] }
]]):format(INTERVAL, INTERVAL, series_of(first, second, seconds)))
    local promtool = process.spawn { "promtool", "test", "rules", "test.yml", cwd = dir, env = process.PLAIN }
    local code, found = promtool:wait(PATIENCE), {}
    local said = promtool:stdout() .. promtool:stderr()
    for name, more in said:gmatch('{alertname="(%w+)"([^}]*)}') do
      found[#found + 1] = name .. " " .. (more:match('lock="(%w*)"') or "") -- not all are about locks
    end
    table.sort(found)
    assert.equal(#found == 0, code == 0, said)
    return found
  end

  --- Waits until these and no others fire. If the machine stood still between the two scrapes, other ones fire rightly:
  --- heartbeats were slow.
  local function fire(expected)
    local wanted = table.concat(expected, ", ")
    wait.eventually(function()
      local found = table.concat(firing(), ", ")
      return found == wanted, found
    end, PATIENCE, "only these fire: " .. wanted)
  end

  it("are silent while one worker runs the job and the other stands by, and name a lock that is waited for", function()
    if not io.open("/usr/bin/promtool") then return pending("promtool is not installed: apt-get install prometheus") end
    start()
    becomes('zklock_standing_by{lock="leader"}', 1)
    becomes('zklock_held{lock="leader"}', 1)
    becomes('zklock_runs_total{lock="leader",result="ran"}', 1)
    fire {}
    assert.equal(200, (web:get("/queue")))
    becomes('zklock_waiting{lock="stock"}', 1)
    fire { "ZklockHoldsForLong stock", "ZklockWaitsForLong stock" }
  end)
end)
