-- Holds the simulation's servers to the real ones: the same random operations of three sessions go to a ZooKeeper
-- server and to the model (spec/recorder), and what each was told must be the same, in order.
-- usage: tools/recorder.lua BUILD COUNT [FIRST]

local server = require "spec.support.server"

local build, count, first = arg[1], tonumber(arg[2]), tonumber(arg[3] or 1)

--- What a program says of each seed: its lines. nil: it failed.
local function record(program, hosts)
  local path = ("%s/recorder/%s"):format(build, program)
  local command = ("%s %s %d %d 2>%s.log"):format(path, hosts, first, first + count - 1, path)
  local pipe = assert(io.popen(command))
  local seeds, lines = {}, {}
  for line in pipe:lines() do
    local seed = line:match("^seed (%d+)$")
    if seed then
      lines = {}
      seeds[tonumber(seed)] = lines
    end
    lines[#lines + 1] = line
  end
  local good, how, status = pipe:close()
  if not good then
    lines[#lines + 1] = ("%s ended: %s %d"):format(program, how, status)
  end
  return seeds
end

--- Transactions' numbers become their places in the order of all that the seed has seen.
local function by_order(lines)
  local seen, numbers = {}, {}
  for _, line in ipairs(lines) do
    for number in line:gmatch("%f[%w]z(%x+)") do
      if not seen[number] then
        seen[number] = true
        numbers[#numbers + 1] = number
      end
    end
  end
  table.sort(numbers, function(a, b) return tonumber(a, 16) < tonumber(b, 16) end)
  for place, number in ipairs(numbers) do
    seen[number] = place
  end
  local out = {}
  for i, line in ipairs(lines) do
    out[i] = line:gsub("%f[%w]z(%x+)", function(number) return "#" .. seen[number] end)
  end
  return out
end

--- The first line that differs, or nil.
local function difference(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then
      return i
    end
  end
end

local function tell(seed, real, model, at)
  print(("FAILED  seed %d: the model is wrong"):format(seed))
  for i = math.max(1, at - 4), at - 1 do
    print("          " .. real[i])
  end
  print("  real:   " .. (real[at] or "nothing"))
  print("  model:  " .. (model[at] or "nothing"))
end

local zookeeper = server.start { container_check_interval = 3600 * 1000 }
local real = record("recorder_real", ("127.0.0.1:%d"):format(zookeeper.port))
zookeeper:stop()
local model = record("recorder_model", "-")

local passed, failed, compared = 0, 0, 0
for seed = first, first + count - 1 do
  local a, b = by_order(real[seed] or {}), by_order(model[seed] or {})
  local at = difference(a, b)
  compared = compared + #a
  if at or #a == 0 then
    failed = failed + 1
    if failed <= 20 then
      tell(seed, a, b, at or 1)
    end
  else
    passed = passed + 1
  end
end
print(("%d lines compared"):format(compared))
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
