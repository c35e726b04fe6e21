std = "max" -- one source for Lua 5.1 to 5.4 and LuaJIT
max_line_length = 120
exclude_files = { "build" }

files["**/*_spec.lua"].std = "+busted"
files["spec"].std = "+busted"
files["lua/zklock/openresty"].read_globals = { "ngx" }
files["examples/nginx"].globals = { "ngx" }
