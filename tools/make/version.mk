# SPDX-License-Identifier: MIT
# The version, as lua/zklock/version.lua has it (tools/version.lua writes it), and the major one: that of the C
# library's soname. Neither is called VERSION, which is the argument of `make release`.
ZKL_VERSION := $(shell sed -n 's/^return "\(.*\)"$$/\1/p' lua/zklock/version.lua)
ZKL_SOVERSION := $(firstword $(subst ., ,$(ZKL_VERSION)))
