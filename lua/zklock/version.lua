--- That of the C module, too (ZKL_VERSION in csrc/zklock.h): `require "zklock"` compares them.
return "0.1.0"
