-- SPDX-License-Identifier: MIT
--- examples/monitoring against what metrics.text writes: a panel or an alert on a metric or a label that does not exist
--- is named here. #once

local file = require "spec.support.file"
local json = require "dkjson"
local metrics = require "zklock.metrics"
local zklock = require "zklock"

local EXAMPLE = "examples/monitoring/"

--- The labels that Prometheus itself adds.
local ADDED = { instance = true, job = true }

describe("the dashboard and the alerts #once", function()
  local known

  --- The metrics that a scrape has after a run, each with its labels. zklock_validity_seconds is there while something
  --- is held, and zklock_metrics_errors_total inside nginx.
  setup(function()
    local client = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 }))
    client.native:count_run(0, "ran")
    known = {}
    for line in metrics.text(client):gmatch("[^\n]+") do
      local declared = line:match("^# TYPE (%S+)")
      local name, labels = line:match("^(zklock_[%w_]+)({?[^ ]*)")
      if declared or name then known[declared or name] = known[declared or name] or {} end
      for label in (labels or ""):gmatch('([%w_]+)="') do known[name][label] = true end
    end
    for _, family in ipairs(require "zklock.metrics.families") do known[family.name] = known[family.name] or {} end
    client:close()
  end)

  --- The errors in an expression of PromQL, as far as its metrics and labels go.
  local function problems(expr)
    local found, count = {}, 0
    for name, selector in expr:gmatch("(zklock_[%w_]+)({?[^{}]*)") do
      count = count + 1
      if not known[name] then found[#found + 1] = name .. " is no metric" end
      for label in (selector:sub(1, 1) == "{" and selector or ""):gmatch('([%w_]+)%s*[=!]') do
        if known[name] and not (known[name][label] or ADDED[label]) then
          found[#found + 1] = ("%s has no label %s"):format(name, label)
        end
      end
      for label in (expr:match("by (%b())") or ""):gmatch("[%w_]+") do
        if known[name] and not (known[name][label] or ADDED[label]) then
          found[#found + 1] = ("%s has no label %s to group by"):format(name, label)
        end
      end
    end
    if count == 0 then found[1] = "no metric of zklock" end
    return table.concat(found, "; ")
  end

  it("would be refused with a wrong name", function()
    assert.equal("zklock_hold is no metric", problems('sum(zklock_hold{lock="a"})'))
    assert.equal("zklock_held has no label look", problems('sum(zklock_held{look="a"})'))
    assert.equal("zklock_requests_total has no label lock to group by",
      problems("sum by (lock) (rate(zklock_requests_total[5m]))"))
    assert.equal("no metric of zklock", problems("up"))
    assert.equal("", problems('sum by (le, lock) (rate(zklock_wait_seconds_bucket{instance="a"}[5m]))'))
  end)

  it("use metrics and labels that metrics.text writes", function()
    local count = 0
    local dashboard = assert(json.decode(file.read(EXAMPLE .. "dashboard.json")))
    for _, panel in ipairs(dashboard.panels) do
      for _, target in ipairs(panel.targets) do
        count = count + 1
        assert.equal("", problems(target.expr), ("panel '%s': %s"):format(panel.title, target.expr))
      end
    end
    assert.is_true(count > 15)
    for _, variable in ipairs(dashboard.templating.list) do
      local expr, label = ((variable.query or {}).query or ""):match("^label_values%((.-), ([%w_]+)%)$")
      if expr then assert.equal("", problems(("sum by (%s) (%s)"):format(label, expr)), variable.name) end
    end
    local alerts = 0
    for name, body in file.read(EXAMPLE .. "alerts.yml"):gmatch("%- alert: (%w+)(.-)labels:") do
      alerts = alerts + 1
      assert.equal("", problems(assert(body:match("expr:(.*)"))), "alert " .. name)
    end
    assert.is_true(alerts > 5)
  end)

  it("show each metric in at least one panel", function()
    local text = file.read(EXAMPLE .. "dashboard.json")
    for _, family in ipairs(require "zklock.metrics.families") do
      assert.is_truthy(text:find(family.name, 1, true), family.name)
    end
  end)

  it("have panels with numbers, titles and places of their own", function()
    local dashboard = assert(json.decode(file.read(EXAMPLE .. "dashboard.json")))
    local ids, places = {}, {}
    for _, panel in ipairs(dashboard.panels) do
      assert.is_nil(ids[panel.id], panel.title)
      ids[panel.id] = true
      assert.is_true(#panel.title > 0 and #panel.description > 0, panel.title)
      local at = panel.gridPos
      assert.is_true(at.x + at.w <= 24, panel.title)
      for x = at.x, at.x + at.w - 1 do
        for y = at.y, at.y + at.h - 1 do
          assert.is_nil(places[x .. " " .. y], panel.title .. " overlaps another one")
          places[x .. " " .. y] = true
        end
      end
    end
  end)

  it("have alerts that docs/monitoring.md explains", function()
    local page = file.read("docs/monitoring.md")
    for name in file.read(EXAMPLE .. "alerts.yml"):gmatch("%- alert: (%w+)") do
      assert.is_truthy(page:find("`" .. name .. "`", 1, true), name)
    end
  end)

  it("are told of in docs/monitoring.md by blocks of the example", function()
    local example = {}
    for _, name in ipairs { "nginx.conf", "locks.lua", "prometheus.yml" } do
      example[#example + 1] = file.read(EXAMPLE .. name)
    end
    -- spec/nginx/page_spec.lua runs the example
    local text = ("\n" .. table.concat(example, "\n")):gsub("\n +", "\n")
    local count = 0
    for block in file.read("docs/monitoring.md"):gmatch("\n```%l+\n(.-)```") do
      count = count + 1
      local lines = ("\n" .. block):gsub("\n +", "\n")
      assert.is_truthy(text:find(lines, 1, true), block)
    end
    assert.equal(5, count)
  end)
end)
