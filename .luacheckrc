-- SPDX-License-Identifier: MIT
std = "max" -- one source for Lua 5.1 to 5.4 and LuaJIT
max_line_length = 120
exclude_files = { "build" }

files["**/*_spec.lua"].std = "+busted"
files["spec"].std = "+busted"
files["lua/zklock/openresty"].read_globals = { "ngx" }
files["lua/zklock/metrics"].globals = { "ngx" }
files["examples/monitoring"].globals = { "ngx" }
files["examples/nginx"].globals = { "ngx" }
files["examples/nginx/plugins"].read_globals = { "kong", "ngx" }
files["examples/nginx/plugins"].self = false
files["examples/hosts/neovim"].globals = { "vim" }
files["examples/hosts/prosody"].globals = { "module" }
files["examples/hosts/prosody/*.cfg.lua"].allow_defined_top = true
files["examples/hosts/prosody/*.cfg.lua"].read_globals = { "VirtualHost" }
files["examples/hosts/prosody/*.cfg.lua"].ignore = { "131" }
files["examples/hosts/knot"].globals = { "hints", "log", "modules", "net", "worker" }
files["examples/hosts/apache"].globals = { "apache2", "handle", "shop_client" }
files["examples/hosts/haproxy"].globals = { "core" }
files["examples/jobs"].read_globals = { "ngx" }
