# SPDX-License-Identifier: MIT
# The files that `make install` and `make install-lib` put somewhere, and `make uninstall` removes. The Lua modules are
# installed by LuaRocks.

# Below PREFIX; Debian's own packages have lib/x86_64-linux-gnu.
LIBDIR = lib

# SOURCE=FOLDER/NAME, below PREFIX; the command line, and the engine for programs in C
INSTALLED_CLI = $(B)/zklock=bin/zklock share/zklock.1=share/man/man1/zklock.1 \
	share/zklock.bash=share/bash-completion/completions/zklock share/_zklock=share/zsh/site-functions/_zklock \
	share/zklock.fish=share/fish/vendor_completions.d/zklock.fish
INSTALLED_LIB = csrc/zklock.h=include/zklock.h csrc/zklock_host.h=include/zklock_host.h \
	share/zklock.3=share/man/man3/zklock.3 \
	$(B)/lib/libzklock.a=$(LIBDIR)/libzklock.a $(B)/lib/$(SONAME)=$(LIBDIR)/$(SONAME)
# Files that are not copies: the name that the linker looks for, and the description for pkg-config.
MADE_LIB = =$(LIBDIR)/libzklock.so =$(LIBDIR)/pkgconfig/zklock.pc

source_of = $(word 1,$(subst =, ,$1))
target_of = $(DESTDIR)$(PREFIX)/$(lastword $(subst =, ,$1))

define install_one
$Qinstall -D -m $(if $(findstring bin/,$1),755,644) '$(call source_of,$1)' '$(call target_of,$1)'

endef
# Folders that others may share are left: bin and man1. Those of a staging folder go, if they are empty.
define uninstall_one
$Qrm -f '$(call target_of,$1)'
$(if $(DESTDIR),$Qcd '$(DESTDIR)' 2>/dev/null && rmdir -p --ignore-fail-on-non-empty '.$(dir $(PREFIX)/$(lastword $(subst =, ,$1)))' 2>/dev/null || :)

endef

install: install-lib $(B)/zklock
	$(foreach one,$(INSTALLED_CLI),$(call install_one,$(one)))

install-lib: $(LIBRARY)
	$(foreach one,$(INSTALLED_LIB),$(call install_one,$(one)))
	$Qln -sf $(SONAME) '$(DESTDIR)$(PREFIX)/$(LIBDIR)/libzklock.so'
	$Qmkdir -p '$(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig'
	$Qsed -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBDIR@,$(LIBDIR),' -e 's,@VERSION@,$(ZKL_VERSION),' share/zklock.pc.in \
		>'$(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig/zklock.pc'

uninstall:
	$(foreach one,$(INSTALLED_CLI) $(INSTALLED_LIB) $(MADE_LIB),$(call uninstall_one,$(one)))
