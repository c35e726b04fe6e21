# SPDX-License-Identifier: MIT
# The engine on other machines: compiled here for each of them, and run by qemu-user, or with another libc. The kernel of
# amd64 runs programs for i386 itself, and qemu-i386 hangs in those that fork.

PLATFORMS = arm64 s390x i386 musl

# Debian's name of the machine, and the command that runs a program for it.
MACHINE_arm64 = aarch64-linux-gnu
MACHINE_s390x = s390x-linux-gnu
MACHINE_i386 = i686-linux-gnu
RUN_arm64 = qemu-aarch64 -L /usr/$(MACHINE_arm64)
RUN_s390x = qemu-s390x -L /usr/$(MACHINE_s390x)
RUN_i386 = /usr/$(MACHINE_i386)/lib/ld-linux.so.2 --library-path /usr/$(MACHINE_i386)/lib

# The unit tests that are left out, by name: qemu-user answers TCP_INFO as if it were a number (watchdog). The server of
# fuzz_stream waits 3 ms for the client's next request: a client that is slower hears what ends libzookeeper itself
# (deserialize_multi in fuzz/libzookeeper.known); on i386 it comes to another such end (string_hash_djb2). validity_model tries every order of events, for many minutes there.
LEFT_OUT_qemu = watchdog_test fuzz_stream_test validity_model_test
LEFT_OUT_arm64 = $(LEFT_OUT_qemu)
LEFT_OUT_s390x = $(LEFT_OUT_qemu)
LEFT_OUT_i386 = fuzz_stream_test

# $(call for_platform,PLATFORM): the arguments of a make that compiles for it. gcc has notes about i386 that are no
# warnings. Some unit tests define functions of libzookeeper, which is an archive here.
for_platform = LUAS= B=build/platforms/$1 CPPFLAGS='-isystem build/platforms/$1/root/include' \
	LDFLAGS='-Lbuild/platforms/$1/root/lib $(if $(MACHINE_$1),-Wl$(comma)-z$(comma)muldefs,-static)' \
	$(if $(MACHINE_$1),CC='$(MACHINE_$1)-gcc -Wno-psabi' AR=$(MACHINE_$1)-ar OBJCOPY=$(MACHINE_$1)-objcopy,CC=musl-gcc)

# The example of C, with the library in it.
$(B)/epoll: examples/c/epoll.c $(B)/lib/libzklock.a
	@echo "LD $@"
	$Q$(CC) $(WARNINGS) -D_GNU_SOURCE -Icsrc $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The unit tests have an allocator of their own, which a static libc does not allow: none with musl.
define compile_for
@tools/platforms.sh $1 build/platforms/$1/root
@$(submake) $(call for_platform,$1) build/platforms/$1/epoll $(if $(MACHINE_$1),unit)

endef
platforms: deps
	@rm -rf build/platforms/log && mkdir -p build/platforms/log
	@$(submake) LUAS=5.4 build/5.4/zklock/core.so
	$(foreach platform,$(PLATFORMS),$(call compile_for,$(platform)))
	@exec $(SUITES) -j 1 -l 3600 -o build/platforms/log $(foreach platform,$(PLATFORMS),\
		'lock-$(platform)=PLATFORM="$(RUN_$(platform)) build/platforms/$(platform)/epoll" \
			$(call lua,5.4,build) $(BUSTED) --tags=platforms spec/platforms' \
		$(if $(MACHINE_$(platform)),'unit-$(platform)=LEAVE_OUT="$(LEFT_OUT_$(platform))" tools/unit.sh \
			build/platforms/$(platform)/unit $(RUN_$(platform))'))
