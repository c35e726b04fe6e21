-- SPDX-License-Identifier: MIT
--- examples/monitoring with a real Prometheus and a real browser: `make slow`.

local fixture = require "spec.support.fixture"
local monitoring = require "spec.support.monitoring"
local process = require "spec.support.process"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("examples/monitoring #flood #once", function()
  local here = fixture.new("/monitoring-example")
  local web

  local function start(options)
    options = options or {}
    options.hosts = here.zk.hosts
    web = monitoring.example(options)
    here:closes(web, web.stop)
    return web
  end

  it("is scraped by Prometheus, which answers queries and knows the alerts", function()
    start()
    local prometheus = here:closes(monitoring.prometheus(web.port), function(one) one:stop() end)
    prometheus:becomes('zklock_clients{state="connected"}', 2)
    for _ = 1, 25 do assert.same({ 200, "sold\n" }, { web:get("/buy") }) end
    prometheus:becomes('sum(zklock_acquisitions_total{lock="stock",result="acquired"})', 25)
    prometheus:becomes('zklock_wait_seconds_count{lock="stock"} == ignoring(le) '
      .. 'zklock_wait_seconds_bucket{lock="stock",le="+Inf"}', 25)
    prometheus:becomes('sum(zklock_held{lock="stock"})', 0)
    prometheus:becomes('zklock_held{lock="leader"}', 1)
    prometheus:becomes("zklock_metrics_errors_total", 0)
    local _, rules = prometheus:ask("rules"):gsub('"name":"Zklock%a+"', "")
    assert.equal(10, rules)
    assert.equal("", (prometheus:ask("rules"):match('"health":"err"') or ""))
    assert.same({}, web:errors())
  end)

  it("serves what promtool accepts", function()
    start()
    web:get("/buy")
    local _, text = web:get("/metrics")
    local promtool = process.spawn { "promtool", "check", "metrics" }
    for line in text:gmatch("[^\n]+") do promtool:write(line) end
    promtool:close_input()
    local code = promtool:wait(PATIENCE)
    assert.same({ 0, "" }, { code, promtool:stdout() .. promtool:stderr() })
  end)

  it("has alerts that promtool accepts, and whose tests pass", function()
    for _, words in ipairs { "check rules alerts.yml", "test rules alerts_test.yml", "check config prometheus.yml" } do
      local promtool = process.spawn { "sh", "-c", "promtool " .. words, cwd = monitoring.EXAMPLE, env = process.PLAIN }
      assert.equal(0, (promtool:wait(PATIENCE)), promtool:stdout() .. promtool:stderr())
    end
  end)

  it("shows operators a page on which nothing of others is markup", function()
    start { locations = [[
      location = /hostile { content_by_lua_block { ngx.timer.at(0, function()
        local locks = require "locks"
        local evil = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
        locks.evil = locks.client:mutex("/monitoring-example/" .. evil:gsub("/", "")):request(60, function() end)
        locks.client:mutex("/monitoring-example/owner"):acquire(60, "</td></table>" .. evil)
      end) } }
    ]] }
    web:get("/hostile")
    wait.eventually(function()
      local _, page = web:get("/locks")
      return page:find("/monitoring-example/owner", 1, true) and page:find("onerror", 1, true)
    end, PATIENCE)
    local dom = monitoring.dom(web.url .. "/locks")
    assert.matches("<title>zklock on [^<]+</title>", dom)
    assert.is_nil(dom:find("<script", 1, true))
    assert.is_nil(dom:find("<img", 1, true))
    assert.is_truthy(dom:find("(&lt;/td&gt;&lt;/table&gt;&lt;script&gt;document.title = 'owned'", 1, true), dom)
    assert.is_truthy(dom:find("<span>/&lt;script&gt;document.title", 1, true), dom)
    for _, words in ipairs { "<td>0, ", "<td>1, ", "<td>connected</td>", "<td>/monitoring-example/leader</td>",
      "lock:request", "Latest events" } do
      assert.is_truthy(dom:find(words, 1, true), words .. " in " .. dom)
    end
  end)
end)
