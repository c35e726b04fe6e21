-- SPDX-License-Identifier: MIT
--- The version. tools/version.lua writes it here and into the other places that name it; the C module has it as
--- ZKL_VERSION (csrc/zklock.h), and `require "zklock"` compares the two.
return "1.0.0"
