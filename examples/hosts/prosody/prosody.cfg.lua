-- SPDX-License-Identifier: MIT
data_path = "." -- Prosody works in this folder
plugin_paths = { "." } -- where mod_shop.lua and zklock_loop.lib.lua are
modules_enabled = { "http" }
http_ports = { 5280 }
http_interfaces = { "127.0.0.1" }
https_ports = {}
c2s_ports = {} -- this one serves HTTP only
s2s_ports = {}

VirtualHost "localhost"
modules_enabled = { "shop" }
