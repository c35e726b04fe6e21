# SPDX-License-Identifier: MIT
# Packages for people who install zklock without compiling it.

# The packages of debian/. lintian's errors and warnings fail it.
deb: deps
	@tools/deb.sh build/deb

# Twice, for an upgrade, and then in a debootstrap: as root, for some minutes.
deb-check: deps
	@$(submake) build/5.4/zklock/core.so
	@tools/deb.sh build/deb-check/first
	@tools/deb.sh build/deb-check/second '$(ZKL_VERSION)+second'
	@env $(call lua,5.4) tools/deb_check.lua build/deb-check

# The image of Dockerfile and compose.yml, on a debootstrap and without a registry of images: as root, for some minutes.
image: deps
	@tools/image.sh build/image
