-- SPDX-License-Identifier: MIT
-- Looks whether what spec/equivalent.txt and spec/uncovered.txt are about is there: files, changes, lines. It builds
-- nothing, so `make lint` can afford it.
-- usage: tools/mutants/stale.lua     Fails if an entry is stale.

local ledger = require "tools.mutants.ledger"
local syntax = require "tools.mutants.syntax"

local sources = {}

local function source_of(file)
  if sources[file] == nil then
    local handle = io.open("csrc/" .. file)
    sources[file] = handle and handle:read("a") or false
    if handle then
      handle:close()
    end
  end
  return sources[file] or nil
end

local judged = ledger.judged("spec/equivalent.txt", "spec/uncovered.txt")
local all = {}
for _, file in ipairs(judged:files()) do
  if source_of(file) then
    for _, change in ipairs(assert(syntax.changes("csrc/" .. file))) do
      all[#all + 1] = change
    end
  end
end
local good = true
for _, stale in ipairs { judged:strangers(all, source_of), judged:stale_lines(source_of) } do
  for _, name in ipairs(stale) do
    print("is not there: " .. name)
    good = false
  end
end
os.exit(good)
