-- SPDX-License-Identifier: MIT
-- Looks whether what spec/equivalent.txt and spec/uncovered.txt are about is there: files, functions, lines. It
-- compiles nothing, so `make lint` can afford it; `make mutants` says whether each change is there.
-- usage: tools/mutants/stale.lua [ROOT]     Fails if an entry is stale.

local ledger = require "tools.mutants.ledger"

local root = arg[1] or "."
local sources = {}

local function source_of(file)
  if sources[file] == nil then
    local handle = io.open(("%s/csrc/%s"):format(root, file))
    sources[file] = handle and handle:read("a") or false
    if handle then
      handle:close()
    end
  end
  return sources[file] or nil
end

local stale = ledger.judged(root .. "/spec/equivalent.txt", root .. "/spec/uncovered.txt"):stale(source_of)
for _, name in ipairs(stale) do
  print("is not there: " .. name)
end
os.exit(#stale == 0)
