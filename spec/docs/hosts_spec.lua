-- SPDX-License-Identifier: MIT
--- docs/hosts.md shows the files of examples/hosts, which spec/hosts runs. #once

local read = require("spec.support.file").read

--- By language and file: the blocks of the page.
local SHOWN = {
  { "haproxy", "haproxy/haproxy.cfg" }, { "lua", "haproxy/shop.lua" }, { "lua", "neovim/edit_lock.lua" },
  { "lua", "prosody/mod_shop.lua" }, { "lua", "knot/refresh.lua" }, { "apache", "apache/httpd.conf" },
  { "lua", "apache/shop.lua" },
}

describe("the page on hosts #once", function()
  for _, one in ipairs(SHOWN) do
    it("shows " .. one[2], function()
      local text = read("examples/hosts/" .. one[2]):gsub("^[-#]+ SPDX[^\n]*\n", "")
      assert.is_truthy(read("docs/hosts.md"):find("```" .. one[1] .. "\n" .. text .. "```", 1, true))
    end)
  end
end)
