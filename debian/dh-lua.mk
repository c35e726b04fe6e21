# SPDX-License-Identifier: MIT
# For each Lua the same. dh-lua installs the Lua modules and says for which versions they are. The C module is the one
# that `make build` makes and the specs test (debian/rules): to dh-lua, which would compile it in another way, the
# package has no C part.
PKG_NAME = zklock
LUA_SOURCES = $(sort $(shell find lua -name '*.lua'))
LUA_SOURCES_MANGLER = sed s,^lua/,,
