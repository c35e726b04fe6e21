# zklock: `make help` tells what there is.

LUAS = 5.1 5.2 5.3 5.4 luajit
CFLAGS = -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wundef -Wformat=2 -Wvla
JOBS = $(shell nproc 2>/dev/null || echo 2)
OBJCOPY = objcopy
Q = @
BUSTED = $(shell command -v busted)
# More arguments for busted, such as --filter='waits for ever'
SPECS =
ASAN_SPECS =
TSAN_SPECS =

# The specs with other languages' libraries, whose packages are large: under Lua 5.4 only. NEIGHBOURS= leaves them out.
NEIGHBOURS = $(and $(filter 5.4,$(LUAS)),$(or $(if $(SPECS),,yes),$(findstring neighbours,$(SPECS))))
# The specs of TLS, for which a libzookeeper is built: likewise.
TLS = $(and $(filter 5.4,$(LUAS)),$(or $(if $(SPECS),,yes),$(findstring tls,$(SPECS))))

# `make chaos`: how long, and which schedule of faults (without a seed: another one each time). `make test` has it under
# Lua 5.4, for the minutes that CHAOS says; CHAOS= leaves it out.
MINUTES = 10
SEED := $(shell date +%s)
CHAOS = $(if $(filter 5.4,$(LUAS)),$(if $(SPECS),,1))

# `make random`: how many seeds for each course of the random unit tests; `make test` has a few.
SEEDS = 1000

# Where things go, and with what instrumentation: `make asan` and `make tsan` come back here with both set.
B = build
SANITIZE =

# ---------------------------------------------------------------------------------------------------------------------

BINDING_C = $(wildcard csrc/lua/*.c)
# All of csrc but the binding, which is compiled for each Lua.
ENGINE_C = $(filter-out $(BINDING_C),$(wildcard csrc/*/*.c))
UNIT_C = $(wildcard spec/unit/*_test.c)
FAKE_C = $(filter-out $(UNIT_C),$(wildcard spec/unit/*.c))

ENGINE_O = $(ENGINE_C:csrc/%.c=$(B)/engine/%.o)
FAKE_O = $(FAKE_C:spec/%.c=$(B)/%.o)
UNIT = $(UNIT_C:spec/%.c=$(B)/%)
MODULES = $(LUAS:%=$(B)/%/zklock/core.so)
HOSTS = $(LUAS:%=$(B)/%/host)

COMPILE = $(CC) -std=c11 -D_GNU_SOURCE -DTHREADED -fPIC -fvisibility=hidden -pthread $(WARNINGS) \
	-Icsrc $(CPPFLAGS) $(CFLAGS) $(SANITIZE) -MMD -MP
LINK = $(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS)
LIBS = -lzookeeper_mt -pthread

# Distributions name Lua's pkg-config file differently. Asked late, when `deps` has run.
lua_names = $(if $(filter luajit,$1),luajit,lua$1 lua-$1 lua$(subst .,,$1))
lua_config = $(or $(shell for name in $(lua_names); do pkg-config $2 $$name 2>/dev/null && break; done),\
	$(error pkg-config finds no headers of Lua $1: $(lua_names)))
lua_cflags = $(call lua_config,$1,--cflags)
lua_libs = $(call lua_config,$1,--libs)

LUA_5.1 = lua5.1
LUA_5.2 = lua5.2
LUA_5.3 = lua5.3
LUA_5.4 = lua5.4
LUA_luajit = luajit

# $(call lua,VERSION[,BUILD[,FOLDER]]): that interpreter, with this tree's zklock and no one's LUA_INIT.
lua_path = LUA_PATH="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;$(CURDIR)/?.lua;;" \
	LUA_CPATH="$(CURDIR)/$(or $2,$(B))/$1$3/?.so;;"
lua = $(lua_path) $(LUA_$1)
unexport LUA_INIT LUA_INIT_5_2 LUA_INIT_5_3 LUA_INIT_5_4
unexport LUA_PATH_5_2 LUA_PATH_5_3 LUA_PATH_5_4 LUA_CPATH_5_2 LUA_CPATH_5_3 LUA_CPATH_5_4

.PHONY: help deps build hosts neighbour libzookeeper unit test tls neighbours chaos random slow soak demo lint format asan tsan bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo    a flash sale with and without the lock, in under a minute'
	@echo 'make test    all tests: the C unit tests, and the specs under every Lua'
	@echo 'make neighbours  of them, those beside Curator, kazoo and Go; ROUNDS=20 contends for minutes'
	@echo 'make tls     all specs of TLS, with a libzookeeper built for them; make test runs the quick ones, if it can'
	@echo 'make chaos   everything breaks for ten minutes, and the lock keeps its promises: MINUTES=1 SEED=42'
	@echo 'make soak    nginx and plain Lua use everything for ten minutes, and nothing grows: MINUTES=60'
	@echo 'make slow    floods: tens of thousands of locks in one client, for some minutes'
	@echo 'make random  the random unit tests with a thousand seeds for each course: SEEDS=100'
	@echo 'make build   the module for each Lua: build/5.4/zklock/core.so, ...'
	@echo 'make lint    formatting and static checks'
	@echo 'make format  what lint wants of the C sources'
	@echo 'make asan    the specs with AddressSanitizer, LeakSanitizer and UBSan'
	@echo 'make tsan    the specs with ThreadSanitizer'
	@echo 'make bench   the measurements'
	@echo 'make deps    only install what the others need (they do so themselves; make DEPS= test installs nothing)'
	@echo 'make clean   remove build/'
	@echo
	@echo 'For some Lua versions only: make test LUAS="5.4 luajit"; to see the commands: make build Q='

DEPS = tools/deps.sh $(filter-out deps clean format help,$(MAKECMDGOALS)) \
	$(and $(filter test,$(MAKECMDGOALS)),$(NEIGHBOURS),neighbours) \
	$(and $(filter test,$(MAKECMDGOALS)),$(TLS),tls)

# What is installed is what this run's goals need.
deps:
	@$(DEPS)

build: $(MODULES)
hosts: $(HOSTS)

$(B)/engine/%.o: csrc/%.c Makefile | deps
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -c -o $@ $<

$(B)/unit/%.o: spec/unit/%.c Makefile | deps
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(COMPILE) -Ispec/unit -c -o $@ $<

# An archive, so that a unit test's own version of an engine function wins over the engine's.
$(B)/libengine.a: $(ENGINE_O)
	@rm -f $@
	$Q$(AR) rcs $@ $^

# The same engine, but with an allocator of its own, spec/unit/scarce.c. A name that is not there does not link.
ALLOCATE = malloc calloc realloc reallocarray strdup strndup asprintf vasprintf aligned_alloc posix_memalign getline \
	open_memstream
$(B)/libscarce.a: $(B)/libengine.a
	@echo "AR $@"
	$Q$(OBJCOPY) $(foreach name,$(ALLOCATE),--redefine-sym $(name)=scarce_$(name)) $< $@

$(filter %/memory_test,$(UNIT)): $(B)/libscarce.a
$(filter-out %/memory_test,$(UNIT)): $(B)/libengine.a

$(UNIT): $(B)/unit/%: $(B)/unit/%.o $(FAKE_O)
	@echo "LD $@"
	$Q$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

unit: $(UNIT)

# The binding is compiled for each Lua; the engine knows nothing of Lua and is compiled once.
define lua_rules
$(B)/$1/%.o: csrc/lua/%.c Makefile | deps
	@mkdir -p $$(@D) && echo "CC $$@"
	$Q$$(COMPILE) $$(call lua_cflags,$1) -c -o $$@ $$<

$(B)/$1/zklock/core.so: $(BINDING_C:csrc/lua/%.c=$(B)/$1/%.o) $(ENGINE_O)
	@mkdir -p $$(@D) && echo "LD $$@"
	$Q$$(LINK) -shared -o $$@ $$^ $$(LIBS)

# For the specs: a program that has this Lua in it. Instrumented is what it loads.
$(B)/$1/host: spec/support/host.c Makefile | deps
	@mkdir -p $$(@D) && echo "LD $$@"
	$Q$$(CC) -std=c11 -D_GNU_SOURCE $$(WARNINGS) $$(CPPFLAGS) $$(CFLAGS) $$(call lua_cflags,$1) $$(LDFLAGS) \
		-o $$@ $$< $$(call lua_libs,$1)

$(B)/$1/%.o: spec/memory/%.c Makefile | deps
	@mkdir -p $$(@D) && echo "CC $$@"
	$Q$$(COMPILE) -Ispec/unit $$(call lua_cflags,$1) -c -o $$@ $$<

# The module with that engine, under two names: zklock.core, and scarce, which says what is to fail.
$(B)/$1/scarce/scarce.so: $(BINDING_C:csrc/lua/%.c=$(B)/$1/%.o) $(B)/$1/scarce_lua.o $(B)/unit/scarce.o $(B)/libscarce.a
	@mkdir -p $$(@D)/zklock && echo "LD $$@"
	$Q$$(LINK) -shared -o $$@ $$^ $$(LIBS)
	$Qln -sf ../scarce.so $$(@D)/zklock/core.so
endef
$(foreach version,$(LUAS),$(eval $(call lua_rules,$(version))))

# For the specs: the programs that take the same locks with other languages' libraries.
JARS = $(subst $(space),:,$(patsubst %,/usr/share/java/%.jar,\
	curator-recipes curator-framework curator-client zookeeper guava))

build/neighbour/Curator.class: spec/support/neighbour/Curator.java Makefile | deps
	@mkdir -p $(@D) && echo "JAVAC $@"
	$Qjavac -Xlint:all,-path -Werror -d $(@D) -cp $(JARS) $<

build/neighbour/golang: spec/support/neighbour/golang.go Makefile | deps
	@mkdir -p $(@D) && echo "GO $@"
	$Qenv GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$(CURDIR)/build/neighbour/cache GOFLAGS= go build -o $@ $<

neighbour: build/neighbour/Curator.class build/neighbour/golang

# For the specs: a libzookeeper with TLS. Where its source package cannot be had, tools/tls.sh says so, and the specs of
# TLS are left out.
libzookeeper: | deps
	@tools/tls.sh build/tls || [ $$? -eq 3 ]

-include $(wildcard $(B)/engine/*/*.d $(B)/unit/*.d $(LUAS:%=$(B)/%/*.d))

# --- tests: each suite is a command whose output tools/suites.lua counts; the longest come first. They mostly wait for
# servers, so one more than there are processors runs at a time.

SUITES = $(LUA_5.4) tools/suites.lua -j $(JOBS)
comma = ,
# $(call busted,VERSION,BUILD[,ARGUMENTS[,TAG]]): all specs but those with that tag
# Floods take minutes (#flood): `make slow`.
# Some specs run under 5.4 alone (#once), some under 5.4 and LuaJIT (#slow): the engine below them is the same.
busted = $(call lua,$1,$2) $(BUSTED) -o gtest --exclude-tags=neighbours,flood$(if $4,$(comma)$4) $3 $(SPECS) spec
neighbours = $(call lua,5.4,build) $(BUSTED) -o gtest --tags=neighbours $(SPECS) spec/neighbours

# $(call memory,VERSION,BUILD,NAMES): each allocation in turn fails, of the engine's or of the script's
memory = $(call lua,$1,$2,/scarce) $(BUSTED) -o gtest $(SPECS) $(3:%=spec/memory/%.lua)
MEMORY_LUAS = $(filter 5.1 luajit,$(LUAS))
memory_asan = $(subst asan/report,asan/memory,$(ASAN_ENV)) tools/sanitized.sh build/asan/memory \
	env $(call preload,$(call runtime,asan)) $(call memory,5.4,build/asan,engine script state)

ASAN = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1
TSAN = -fsanitize=thread -fno-omit-frame-pointer -O1
ASAN_ENV = LSAN_OPTIONS=suppressions=$(CURDIR)/tools/lsan.supp:print_suppressions=0 \
	ASAN_OPTIONS=detect_leaks=1:log_path=$(CURDIR)/build/asan/report \
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/asan/report
# nginx does not free everything at its end, and is itself not instrumented.
NGINX_ASAN_ENV = NGINX_PRELOAD=$(call runtime,asan) NGINX_BUILD=$(CURDIR)/build/asan/luajit \
	ASAN_OPTIONS=detect_leaks=0:log_path=$(CURDIR)/build/asan/report \
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/asan/report
TSAN_ENV = TSAN_OPTIONS=$(subst $(space),:,suppressions=$(CURDIR)/tools/tsan.supp log_path=$(CURDIR)/build/tsan/report \
	exitcode=66 die_after_fork=0 ignore_noninstrumented_modules=1 second_deadlock_stack=1)
empty =
space = $(empty) $(empty)

submake = $(MAKE) -s --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS)) DEPS=true

# $(call instrumented,asan|tsan,TARGETS)
instrumented = $(submake) B=build/$1 SANITIZE="$(if $(filter asan,$1),$(ASAN),$(TSAN))" $2

# The interpreter is not instrumented, so the sanitizer's library is loaded before it. Lua processes that a spec starts
# inherit it; spec/support keeps it from Java and from sh, which would crash with ThreadSanitizer's.
preload = LD_PRELOAD=$1
runtime = $(shell realpath "$$($(CC) -print-file-name=lib$1.so)")

# gcc's ThreadSanitizer cannot live with as much address randomization as new kernels use.
fixed_addresses = $(shell setarch -R true 2>/dev/null && echo setarch -R)

# The library that is found first has TLS; the module is the same.
tls = env LD_LIBRARY_PATH=$(CURDIR)/build/tls $(call lua,5.4,build) $(BUSTED) -o gtest

test: deps
	@rm -rf build/test && mkdir -p build/test
	@$(submake) build hosts $(MEMORY_LUAS:%=build/%/scarce/scarce.so) $(if $(NEIGHBOURS),neighbour) $(if $(TLS),libzookeeper)
	@$(call instrumented,asan,unit build/asan/5.4/scarce/scarce.so)
	@$(if $(CHAOS),echo 'make chaos MINUTES=$(CHAOS) SEED=$(SEED)   # goes along')
	@set --; [ ! -e build/tls/libzookeeper_mt.so.2 ] || \
		set -- $(if $(TLS),'tls=$(tls) --exclude-tags=slow spec/security/tls_spec.lua'); \
	exec $(SUITES) -j $$(($(JOBS) + 1)) -l 900 -o build/test \
		$(if $(filter 5.4,$(LUAS)),'5.4=$(call busted,5.4,build)') \
		$(if $(filter luajit,$(LUAS)),'luajit=$(call busted,luajit,build,,once)') \
		$(if $(NEIGHBOURS),'neighbours=$(neighbours)') \
		"$$@" \
		$(if $(CHAOS),'chaos=$(call lua,5.4,build) chaos/run.lua $(CHAOS) $(SEED)') \
		'memory=$(memory_asan)' \
		'unit=$(ASAN_ENV) tools/sanitized.sh build/asan/report tools/unit.sh build/asan/unit' \
		'rock=tools/rock.sh $(LUAS)' \
		$(foreach version,$(MEMORY_LUAS),'memory-$(version)=$(call memory,$(version),build,script state)') \
		$(foreach version,$(filter-out 5.4 luajit,$(LUAS)),\
			'$(version)=$(call busted,$(version),build,,slow$(comma)once)')

neighbours: deps
	@mkdir -p build/test
	@$(submake) LUAS=5.4 build neighbour
	@exec env $(if $(ROUNDS),ROUNDS=$(ROUNDS)) $(SUITES) -j 1 -l 3600 -o build/test 'neighbours=$(neighbours)'

tls: deps
	@rm -rf build/test/tls && mkdir -p build/test/tls
	@$(submake) LUAS=5.4 build
	@tools/tls.sh build/tls
	@exec $(SUITES) -l 580 -o build/test/tls 'tls=$(tls) $(SPECS) spec/security/tls_spec.lua'

chaos: deps $(B)/5.4/zklock/core.so
	@exec env $(call lua,5.4) chaos/run.lua $(MINUTES) $(SEED)

soak: deps $(B)/5.4/zklock/core.so $(B)/luajit/zklock/core.so
	@exec env LUA_PATH_5_4="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;" \
		LUA_CPATH_5_4="$(CURDIR)/$(B)/5.4/?.so;;" $(call lua,luajit) soak/run.lua $(MINUTES)

slow: deps
	@rm -rf build/test/slow && mkdir -p build/test/slow
	@$(submake) LUAS=5.4 build
	@$(call instrumented,asan,build/asan/5.4/zklock/core.so build/asan/5.4/host)
	@exec $(SUITES) -j 1 -l 3600 -o build/test/slow \
		'flood=$(call lua,5.4,build) $(BUSTED) -o gtest --tags=flood $(SPECS) spec' \
		'hostile=$(ASAN_ENV) tools/sanitized.sh build/asan/report env $(call preload,$(call runtime,asan)) \
			$(call lua,5.4,build/asan) $(BUSTED) -o gtest --tags=flood spec/security/hostile_spec.lua'

random: deps
	@$(submake) $(B)/unit/line_random_test $(B)/unit/compound_random_test
	@status=0; for test in line compound; do \
		echo "== $${test}_random_test"; $(B)/unit/$${test}_random_test sweep $(SEEDS) || status=1; \
	done; exit $$status

asan: deps
	@rm -rf build/asan/log && mkdir -p build/asan/log
	@$(call instrumented,asan,unit build/asan/5.4/zklock/core.so build/asan/5.4/host build/asan/5.4/scarce/scarce.so \
		build/asan/luajit/zklock/core.so)
	@$(submake) build/luajit/zklock/core.so
	@exec $(SUITES) -j 1 -l 1800 -o build/asan/log \
		'unit=$(ASAN_ENV) tools/sanitized.sh build/asan/report tools/unit.sh build/asan/unit' \
		'memory=$(memory_asan)' \
		'5.4=$(ASAN_ENV) tools/sanitized.sh build/asan/report \
			env $(call preload,$(call runtime,asan)) $(call busted,5.4,build/asan,$(ASAN_SPECS))' \
		'nginx=$(NGINX_ASAN_ENV) tools/sanitized.sh build/asan/report env $(call lua,luajit) $(BUSTED) -o gtest \
			$(ASAN_SPECS) spec/nginx'

tsan: deps
	@rm -rf build/tsan/log && mkdir -p build/tsan/log
	@$(call instrumented,tsan,unit build/tsan/5.4/zklock/core.so build/tsan/5.4/host)
	@exec $(SUITES) -j 1 -l 1800 -o build/tsan/log \
		'unit=$(TSAN_ENV) $(fixed_addresses) tools/sanitized.sh build/tsan/report tools/unit.sh build/tsan/unit' \
		'5.4=$(TSAN_ENV) $(fixed_addresses) tools/sanitized.sh build/tsan/report \
			env $(call preload,$(call runtime,tsan)) $(call busted,5.4,build/tsan,$(TSAN_SPECS))'

lint: deps
	@tools/lint.sh

format:
	@find csrc spec -name '*.[ch]' -exec clang-format -i {} +

demo: deps $(B)/5.4/zklock/core.so
	@exec env $(call lua,5.4) examples/flash_sale/demo.lua

bench: deps $(B)/5.4/zklock/core.so $(B)/luajit/zklock/core.so build/neighbour/Curator.class
	@env $(call lua,5.4) bench/run.lua
	@env $(call lua,5.4) bench/family.lua
	@exec env $(call lua,luajit) bench/nginx.lua

clean:
	rm -rf build
