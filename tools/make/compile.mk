# SPDX-License-Identifier: MIT
# The rules of compilation. Nothing here installs anything: what is missing, `make deps build` brings.

WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wundef -Wformat=2 -Wvla -Werror=switch-enum -Werror=implicit-function-declaration
OBJCOPY = objcopy
RULES = Makefile tools/make/compile.mk

BINDING_C = $(wildcard csrc/lua/*.c)
CLI_C = $(wildcard csrc/cli/*.c csrc/cli/*/*.c)
# All of csrc but the binding, which is compiled for each Lua, and the command line.
ENGINE_C = $(filter-out $(BINDING_C) $(CLI_C),$(wildcard csrc/*/*.c))
UNIT_C = $(wildcard spec/unit/*_test.c)
# The tests of the session have fakes of their own: links, which no other test wants. So have those of memory.
SESSION_WORLD_C = $(wildcard spec/unit/session_world*.c)
MEMORY_WORLD_C = spec/unit/memory_world.c
UNIT_HEADERS = -Ispec/unit -Ispec/unit/fake
FAKE_C = $(filter-out $(UNIT_C) $(SESSION_WORLD_C) $(MEMORY_WORLD_C),$(wildcard spec/unit/*.c spec/unit/fake/*.c))

# With ZKL_CHECK the engine looks after each step whether the state of all lines is a legal one: the tests know which is.
INVARIANTS_O = $(B)/unit/invariants_line.o $(B)/unit/invariants_sums.o
ENGINE_O = $(ENGINE_C:csrc/%.c=$(B)/engine/%.o) $(if $(findstring -DZKL_CHECK,$(SANITIZE)),$(INVARIANTS_O))
CLI_O = $(CLI_C:csrc/%.c=$(B)/engine/%.o)
FAKE_O = $(FAKE_C:spec/%.c=$(B)/%.o)
SESSION_WORLD_O = $(SESSION_WORLD_C:spec/%.c=$(B)/%.o)
UNIT = $(UNIT_C:spec/%.c=$(B)/%)
# Those beside the unit tests' fakes, those with libzookeeper itself, and those in Lua 5.4 besides.
FUZZ_FAKE = names servers texts directory
FUZZ_REAL = stream
FUZZ_LUA = $(if $(filter 5.4,$(LUAS)),arguments)
FUZZ = $(FUZZ_FAKE) $(FUZZ_REAL) $(FUZZ_LUA)
REPLAYS = $(FUZZ:%=$(B)/unit/fuzz_%_test)
MODULES = $(LUAS:%=$(B)/%/zklock/core.so)
HOSTS = $(LUAS:%=$(B)/%/host)

# Debian's hardening of its packages. Not with a sanitizer, which looks itself; nor without optimization, which the
# checks of buffers need (in CFLAGS of your own, too).
FORTIFY = $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_C = $(if $(SANITIZE),,-fstack-protector-strong $(FORTIFY))
HARDEN_SO = -Wl,-z,relro,-z,now

# The public functions alone are visible (ZKL_API), and no program is meant to replace them.
COMPILE = $(CC) -std=c11 -D_GNU_SOURCE -DTHREADED -fPIC -fvisibility=hidden -fno-semantic-interposition -pthread $(WARNINGS) \
	-Icsrc $(CPPFLAGS) $(CFLAGS) $(HARDEN_C) $(SANITIZE) -MMD -MP
LINK = $(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS)

# ZOOKEEPER=static: libzookeeper's archive, for systems without a libzookeeper. That of `make libzookeeper` comes first;
# it wants OpenSSL, of which it gets the archives. Their names stay ours: a host may have another OpenSSL.
ZOOKEEPER =
TLS_ARCHIVE = $(wildcard build/tls/libzookeeper_mt.a)
ZOOKEEPER_static = $(if $(TLS_ARCHIVE),$(TLS_ARCHIVE) -l:libssl.a -l:libcrypto.a,-l:libzookeeper_mt.a) -Wl,--exclude-libs,ALL
LIBS = $(if $(ZOOKEEPER),$(or $(ZOOKEEPER_$(ZOOKEEPER)),$(error ZOOKEEPER=static expected, got $(ZOOKEEPER))),-lzookeeper_mt) \
	-pthread

# Distributions name Lua's pkg-config file differently.
lua_names = $(if $(filter luajit,$1),luajit,lua$1 lua-$1 lua$(subst .,,$1))
lua_config = $(or $(shell for name in $(lua_names); do pkg-config $2 $$name 2>/dev/null && break; done),\
	$(error pkg-config finds no headers of Lua $1 ($(lua_names)): `make deps build` installs them))
# LUA_INCDIR: where LuaRocks has found them, for the one Lua of `make rock`.
lua_cflags = $(if $(LUA_INCDIR),-I$(LUA_INCDIR),$(call lua_config,$1,--cflags))
lua_libs = $(call lua_config,$1,--libs)

# --- the engine: it knows nothing of Lua and is compiled once

$(B)/engine/%.o: csrc/%.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -c -o $@ $<

# --- the engine as a library for C (tools/make/install.mk). Its other functions are local: they cannot clash with a
# host's, nor with those of a core.so in the same process. It is never unloaded, because its threads run its code.

SONAME = libzklock.so.$(ZKL_SOVERSION)
LIBRARY = $(B)/lib/$(SONAME) $(B)/lib/libzklock.a

$(B)/lib/zklock.o: $(ENGINE_O)
	@mkdir -p $(@D) && echo "LD $@"
	$Q$(LINK) -r -nostdlib -Wl,--force-group-allocation -o $@ $^
	$Q$(OBJCOPY) --localize-hidden $@

$(B)/lib/libzklock.a: $(B)/lib/zklock.o
	@rm -f $@
	$Q$(AR) rcs $@ $^

# The symbol versions. A function of zklock.h has the minor version that was the first with it: the loader refuses a
# program that calls it with an earlier library. A host of event loops was promised nothing, so the loader refuses it with
# any other version. Each function of the list must be there.
listed_as = sed -n "s/^$1 [^(]*[ *]\(zkl_[a-z_]*\)(.*/\1;/p" $<
$(B)/lib/zklock.map: share/zklock.abi csrc/zklock.h $(RULES)
	@mkdir -p $(@D)
	$Q{ former=; for minor in $$(sed -n 's/^function \([0-9.]*\) .*/\1/p' $< | sort -u -t. -k1,1n -k2,2n); do \
			echo "ZKLOCK_$$minor { global:" && $(call listed_as,function $$minor) && echo "}$$former;" || exit; \
			former=" ZKLOCK_$$minor"; \
		done && \
		echo 'ZKLOCK_HOST_$(ZKL_VERSION) { global:' && $(call listed_as,host function) && echo 'local: *; };'; } >$@

$(B)/lib/$(SONAME): $(ENGINE_O) $(B)/lib/zklock.map
	@mkdir -p $(@D) && echo "LD $@"
	$Q$(LINK) -shared -Wl,-soname,$(SONAME) -Wl,-z,nodelete -Wl,-z,defs -Wl,--version-script=$(B)/lib/zklock.map \
		-Wl,--no-undefined-version $(HARDEN_SO) -o $@ $(ENGINE_O) $(LIBS)

# --- the command line: the engine's other host

# A program on a terminal, in crontabs and as root: hardened as the modules are, and position-independent.
$(B)/zklock: $(CLI_O) $(B)/libengine.a
	@echo "LD $@"
	$Q$(LINK) -pie $(HARDEN_SO) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -lsmartcols

# An archive, so that a unit test's own version of an engine function wins over the engine's.
$(B)/libengine.a: $(ENGINE_O)
	@rm -f $@
	$Q$(AR) rcs $@ $^

# The same engine, but with an allocator of its own, spec/unit/scarce.c. A name that is not there does not link.
ALLOCATE = malloc calloc realloc reallocarray strdup strndup asprintf vasprintf aligned_alloc posix_memalign getline \
	open_memstream __asprintf_chk __vasprintf_chk
$(B)/libscarce.a: $(B)/libengine.a
	@echo "AR $@"
	$Q$(OBJCOPY) $(foreach name,$(ALLOCATE),--redefine-sym $(name)=scarce_$(name)) $< $@

# --- the unit tests; after each step they check that what the lines know is a legal state (spec/unit/invariants.h)

$(B)/unit/%.o: spec/unit/%.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -Wno-switch-enum -DZKL_CHECK $(UNIT_HEADERS) -c -o $@ $<

# The code of a step, with a call for each piece that it runs: spec/unit/flat_test.c counts them.
COUNTED_O = $(patsubst csrc/%.c,$(B)/counted/%.o,$(wildcard $(addprefix csrc/,base/*.c port/*.c recipe/*.c line/*.c shared/*.c compound/*.c ask/*.c query/*.c)))
$(B)/counted/%.o: csrc/%.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -O1 -fsanitize-coverage=trace-pc -c -o $@ $<
$(B)/libcounted.a: $(COUNTED_O)
	@rm -f $@
	$Q$(AR) rcs $@ $^

OF_MEMORY = $(filter $(B)/unit/memory_% $(B)/unit/session_memory_%,$(UNIT))
$(OF_MEMORY): $(MEMORY_WORLD_C:spec/%.c=$(B)/%.o) $(B)/libscarce.a
$(filter %/flat_test,$(UNIT)): $(B)/libcounted.a $(B)/libengine.a
$(filter-out $(OF_MEMORY) %/flat_test,$(UNIT)): $(B)/libengine.a

$(filter $(B)/unit/session_%,$(UNIT)): $(SESSION_WORLD_O)
$(filter %/reaper_test,$(UNIT)): $(addprefix $(B)/engine/cli/,run/reaper.o run/page.o text.o)
$(filter %/held_test,$(UNIT)): $(addprefix $(B)/engine/cli/,held.o options.o connection.o settings.o text.o)
$(UNIT): $(B)/unit/%: $(B)/unit/%.o $(FAKE_O)
	@echo "LD $@"
	$Q$(LINK) -o $@ $(filter-out $(if $(filter %/flat_test,$@),$(INVARIANTS_O)),$(filter %.o,$^)) $(filter %.a,$^) $(LIBS)

# --- what fuzzing has kept, replayed as unit tests

$(B)/fuzz/stream.o: CPPFLAGS += -DSANE
$(B)/fuzz/arguments.o: CPPFLAGS += $(call lua_cflags,5.4)

$(B)/fuzz/%.o: fuzz/%.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -DZKL_CHECK $(UNIT_HEADERS) -c -o $@ $<

$(FUZZ:%=$(B)/fuzz/replay_%.o): $(B)/fuzz/replay_%.o: fuzz/replay.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -DCORPUS='"fuzz/corpus/$*"' -c -o $@ $<

$(FUZZ_REAL:%=$(B)/unit/fuzz_%_test): $(B)/unit/fuzz_%_test: $(B)/fuzz/%.o $(B)/fuzz/replay_%.o $(B)/fuzz/input.o \
		$(B)/fuzz/failure.o $(INVARIANTS_O) $(B)/libengine.a
	@echo "LD $@"
	$Q$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

$(FUZZ_LUA:%=$(B)/unit/fuzz_%_test): $(B)/unit/fuzz_%_test: $(B)/fuzz/%.o $(B)/fuzz/replay_%.o \
		$(B)/fuzz/failure.o $(BINDING_C:csrc/lua/%.c=$(B)/5.4/%.o) $(INVARIANTS_O) $(B)/libengine.a
	@echo "LD $@"
	$Q$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) $(call lua_libs,5.4) -lm -ldl

$(FUZZ_FAKE:%=$(B)/unit/fuzz_%_test): $(B)/unit/fuzz_%_test: $(B)/fuzz/%.o $(B)/fuzz/replay_%.o $(B)/fuzz/input.o \
		$(B)/fuzz/failure.o $(filter-out %/check.o %/random_world.o %/random_sweep.o,$(FAKE_O)) $(B)/libengine.a
	@echo "LD $@"
	$Q$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

# --- the simulation: whole clients on servers, a libzookeeper, threads and a clock of its own (spec/sim)

SIM_C = $(wildcard spec/sim/*.c)
SIM_O = $(SIM_C:spec/sim/%.c=$(B)/sim/%.o)
# Functions that ask the system ask the simulated machine instead.
SIM_WRAPPED = zkl_clock_boot zkl_clock_wait nanosleep getrandom getaddrinfo freeaddrinfo
COUNTED = $(foreach name,$(ALLOCATE) free,--redefine-sym $(name)=counted_$(name))

$(B)/sim/%.o: spec/sim/%.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -Wno-switch-enum -DZKL_CHECK $(UNIT_HEADERS) -Ispec/sim -c -o $@ $<

# The same engine, but its memory is counted, and each step ends with a look at whether its state is a legal one.
$(B)/sim/legal/client_state.o: csrc/client/client_state.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -DZKL_CHECK -c -o $@ $<
	$Q$(OBJCOPY) $(COUNTED) $@

$(B)/sim/libcounted.a: $(B)/libengine.a
	@mkdir -p $(@D) && echo "AR $@"
	$Q$(OBJCOPY) $(COUNTED) $< $@

$(B)/sim/simulation: $(SIM_O) $(B)/sim/legal/client_state.o $(INVARIANTS_O) $(B)/unit/fake/fake_servers.o $(B)/sim/libcounted.a
	@echo "LD $@"
	$Q$(LINK) -o $@ $^ $(SIM_WRAPPED:%=-Wl,--wrap=%) -pthread

# --- the recorder: the same program against real servers and against the simulation's (spec/recorder)

$(B)/recorder/%.o: spec/recorder/%.c $(RULES)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) $(UNIT_HEADERS) -Ispec/sim -c -o $@ $<

$(B)/recorder/recorder_real: $(B)/recorder/recorder.o $(B)/recorder/real.o
	@echo "LD $@"
	$Q$(LINK) -o $@ $^ $(LIBS)

$(B)/recorder/recorder_model: $(B)/recorder/recorder.o $(B)/recorder/model.o \
		$(filter-out %/main.o %/history.o %/host.o %/lines.o %/clerk.o %/marks.o %/judge.o %/nodes.o %/slow.o %/ledger.o %/known.o %/costs.o %/journal.o,\
		$(SIM_O)) $(B)/unit/fake/fake_servers.o $(B)/libengine.a
	@echo "LD $@"
	$Q$(LINK) -o $@ $^ $(SIM_WRAPPED:%=-Wl,--wrap=%) -pthread

# --- the binding, for each Lua

# The engine in it is its own: a program may have another one, or libzklock.so, besides.
EXPORTS = -Wl,--version-script=csrc/lua/exports.map

define lua_rules
$(B)/$1/%.o: csrc/lua/%.c $(RULES)
	@mkdir -p $$(@D) && echo "CC $$@"
	$Q$$(COMPILE) $$(call lua_cflags,$1) -c -o $$@ $$<

$(B)/$1/zklock/core.so: $(BINDING_C:csrc/lua/%.c=$(B)/$1/%.o) $(ENGINE_O)
	@mkdir -p $$(@D) && echo "LD $$@"
	$Q$$(LINK) -shared $$(HARDEN_SO) $$(EXPORTS) -o $$@ $$(filter %.o,$$^) $$(LIBS)

# For the specs: a program that has this Lua in it. Instrumented is what it loads.
$(B)/$1/host: spec/support/host.c $(RULES)
	@mkdir -p $$(@D) && echo "LD $$@"
	$Q$$(CC) -std=c11 -D_GNU_SOURCE $$(WARNINGS) $$(CPPFLAGS) $$(CFLAGS) $$(call lua_cflags,$1) $$(LDFLAGS) \
		-o $$@ $$< $$(call lua_libs,$1)

$(B)/$1/%.o: spec/memory/%.c $(RULES)
	@mkdir -p $$(@D) && echo "CC $$@"
	$Q$$(COMPILE) -Ispec/unit $$(call lua_cflags,$1) -c -o $$@ $$<

# The module with that engine, under two names: zklock.core, and scarce, which says what is to fail.
$(B)/$1/scarce/scarce.so: $(BINDING_C:csrc/lua/%.c=$(B)/$1/%.o) $(B)/$1/scarce_lua.o $(B)/unit/scarce.o $(B)/libscarce.a
	@mkdir -p $$(@D)/zklock && echo "LD $$@"
	$Q$$(LINK) -shared $$(EXPORTS) -o $$@ $$^ $$(LIBS)
	$Qln -sf ../scarce.so $$(@D)/zklock/core.so
endef
$(foreach version,$(LUAS),$(eval $(call lua_rules,$(version))))

# LuaRocks makes this. It builds everything anew: the last time may have been for another Lua.
rock:
	$(if $(LUA_INCDIR),,$(error LUA_INCDIR must be the folder with the headers of the Lua that the module is for))
	@rm -rf $(B)/rock
	$(MAKE) --no-print-directory -j$(JOBS) B=$(B)/rock LUAS=lua $(B)/rock/lua/zklock/core.so

-include $(wildcard $(B)/engine/*/*.d $(B)/engine/*/*/*.d $(B)/counted/*/*.d $(B)/unit/*.d $(B)/unit/fake/*.d $(B)/fuzz/*.d $(B)/sim/*.d $(B)/sim/legal/*.d $(B)/recorder/*.d $(LUAS:%=$(B)/%/*.d))

# --- for the specs: programs that take the same locks with other languages' libraries, and a libzookeeper with TLS

empty =
space = $(empty) $(empty)
JARS = $(subst $(space),:,$(patsubst %,/usr/share/java/%.jar,\
	curator-recipes curator-framework curator-client zookeeper guava))

build/neighbour/Curator.class: spec/support/neighbour/Curator.java $(RULES)
	@mkdir -p $(@D) && echo "JAVAC $@"
	$Qjavac -Xlint:all,-path -Werror -d $(@D) -cp $(JARS) $<

build/neighbour/golang: spec/support/neighbour/golang.go $(RULES)
	@mkdir -p $(@D) && echo "GO $@"
	$Qenv GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$(CURDIR)/build/neighbour/cache GOFLAGS= go build -o $@ $<

neighbour_programs: build/neighbour/Curator.class build/neighbour/golang

# Where its source package cannot be had, tools/tls.sh says so, and the specs of TLS are left out.
libzookeeper:
	@tools/tls.sh build/tls || [ $$? -eq 3 ]
