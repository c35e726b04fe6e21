# SPDX-License-Identifier: MIT
# `make help` tells what there is. How things are compiled is in tools/make/compile.mk, what the tests are run with in
# tools/make/suites.mk.

LUAS = 5.1 5.2 5.3 5.4 luajit
# Debian 12 has no Lua 5.5. It is one of them where its headers are, and what the specs need of it.
LATEST_LUA := $(shell for name in lua5.5 lua-5.5 lua55; do pkg-config --exists $$name && \
	lua5.5 -e 'require "busted" require "luv" require "socket" require "lfs"' && echo 5.5 && break; done 2>/dev/null)
LUAS += $(LATEST_LUA)
CFLAGS ?= -O2 -g
JOBS = $(shell nproc 2>/dev/null || echo 2)
# Which specs, and more arguments for busted: SPECS="spec/locks --filter='waits for ever'"; without a file: all
SPECS =

# The specs with other languages' libraries, whose packages are large: under Lua 5.4 only. NEIGHBOURS= leaves them out.
NEIGHBOURS = $(and $(filter 5.4,$(LUAS)),$(or $(if $(SPECS),,yes),$(findstring neighbours,$(SPECS))))
# `make test-all` has the specs of TLS, for which a libzookeeper is built. TLS= leaves them out.
TLS = yes

# `make chaos`: how long, and which schedule of faults (without a seed: another one each time). `make test-all` has it for
# CHAOS minutes.
# KIND=armfuls: each worker takes up to 50 locks at once. KIND=jobs: each has a job at each path.
MINUTES = 10
KIND =
SEED := $(shell date +%s)
CHAOS = 1

# `make test-all` has some seconds of `make soak-lua`, so that it does not rot.
SOAK_LUAS = $(filter 5.1 5.4,$(LUAS))

# `make random`: how many seeds for each course of the random unit tests; `make test` has a few.
SEEDS = 1000

# Where things go, and with what instrumentation: `make asan` and `make tsan` come back here with both set.
B = build
SANITIZE =
Q = @

.PHONY: help demo test test-all steady nightly neighbours tls chaos keeper soak soak-lua slow random model sim costs recorder coverage mutants fuzz bare lint asan tsan bench instructions duel screenshot release picture
.PHONY: deb deb-check image
.PHONY: deps build install install-lib uninstall abi hosts unit rock rockspec neighbour_programs libzookeeper format clean
.DELETE_ON_ERROR:

help:
	@echo 'These first install what they need, and say so before; make DEPS= test installs nothing:'
	@echo '  make demo    a flash sale with and without the lock, in 40 seconds to 4 minutes'
	@echo '  make test    each promise once: the C unit tests, the simulation, the specs under Lua 5.4, those of nginx and of the neighbours; SPECS=spec/locks: only those, under LUAS=5.1'
	@echo '  make test-all  the rest: the specs under every other Lua, failing allocations, TLS, rocks, tools, chaos'
	@echo '  make steady  make test until it has passed RUNS=20 times in a row beside LOAD=0 busy loops; STEADY=FILE keeps what has passed, and the next call goes on there'
	@echo '  make nightly  what is too long for each change, in at most four hours: HOURS=0.1 tries each part, and cuts off what has a fixed length'
	@echo '  make neighbours  of them, those beside Curator, kazoo and Go; ROUNDS=20 contends for minutes'
	@echo '  make tls     all specs of TLS, with a libzookeeper built for them; make test runs the quick ones, if it can'
	@echo '  make chaos   everything breaks for ten minutes, and the lock keeps its promises: MINUTES=1 SEED=42, KIND=armfuls for many locks at once, KIND=jobs for jobs, HISTORY=FILE for other judges'
	@echo '  make keeper  specs of locks, sessions and faults, and a minute of chaos, behind the habits of ClickHouse Keeper: CHAOS=10'
	@echo '  make soak    nginx is reloaded for two minutes with all timers in use, then nginx and plain Lua use everything for ten, and nothing grows: MINUTES=60'
	@echo '  make soak-lua  each Lua misuses everything for ten minutes, and nothing is left: MINUTES=1 SEED=42'
	@echo '  make slow    floods, hooks that raise at every instruction, hostile directories in valgrind, jobs under wrong clocks, a Prometheus and a browser: for some minutes'
	@echo '  make random  the random unit tests with a thousand seeds for each course: SEEDS=100'
	@echo '  make model   every order of events of the recipe in a model, and each of its rules left out once: FULL=1'
	@echo '  make sim     whole clients on simulated servers for a minute, other seeds each time: SECONDS=20; SEED=7 tells one; HISTORY=FILE'
	@echo '  make costs   what the simulation asks the servers for, written down anew: for whoever has changed it'
	@echo '  make fuzz    names, connect strings, log lines and ACLs, directories of strangers, servers that lie, calls, with libFuzzer: MINUTES=60'
	@echo '  make recorder  the simulation'\''s servers against a real one, operation by operation: COUNT=300'
	@echo '  make coverage  which lines and changes of state the unit tests and the simulation do not come by: for two minutes'
	@echo '  make mutants  what unit tests and simulation do not notice, if it is changed: COUNT=200 SEED=1 FILES=csrc/line/answer.c'
	@echo '  make bare    the commands of the README in a fresh minimal Debian: as root, for half an hour: BARE="make demo"'
	@echo '  make lint    formatting and static checks'
	@echo '  make asan    the specs with AddressSanitizer, LeakSanitizer and UBSan: SPECS=spec/locks'
	@echo '  make tsan    the specs with ThreadSanitizer: SPECS=spec/locks'
	@echo '  make platforms  the unit tests, and a lock beside one of this machine, on arm64, s390x and i386 in qemu and with musl: PLATFORMS="arm64 musl"'
	@echo '  make bench   the measurements'
	@echo '  make instructions  of them, how many instructions calls take, in plain Lua and in nginx: for some minutes; ONLY=visit'
	@echo '  make duel    the same commands under zklock run, etcdctl lock and flock, for a minute: for how long do two run at once?'
	@echo '  make screenshot  docs/images/locks.png, the picture of the page for operators'
	@echo '  make contest every way that people lock today, what it costs and what it breaks: QUICK=1 PEERS="flock etcd"'
	@echo '  make picture draws docs/demo.svg and docs/images/run.svg: what make demo and zklock run show on a terminal'
	@echo '  make deb     the Debian packages: build/deb'
	@echo '  make deb-check  installs them in a fresh minimal Debian, takes locks, upgrades and purges them: as root'
	@echo '  make image   the images of Dockerfile with buildah, on a debootstrap, and runs them: as root'
	@echo '  make release VERSION=1.0.0  tests a fresh clone, tags it and packs it in build/release; uploads nothing'
	@echo 'These install nothing:'
	@echo '  make build   the module for each Lua: build/5.4/zklock/core.so, ..., and the command line: build/zklock'
	@echo '  make install the command line with its manual and completions, and install-lib: PREFIX=/usr/local DESTDIR='
	@echo '  make install-lib  the engine as a C library: libzklock.so, libzklock.a, the headers, zklock.pc, zklock(3): LIBDIR=lib'
	@echo '  make uninstall  removes them'
	@echo '  make abi     writes what programs in C are built against into share/zklock.abi, and the functions into zklock(3)'
	@echo '  make unit    the C unit tests, build/unit/*_test; tools/unit.sh build/unit runs them'
	@echo '  make hosts   for the specs: build/5.4/host, ..., a program with that Lua in it'
	@echo '  make neighbour_programs  for the specs: the programs that use other languages'\'' libraries'
	@echo '  make contest-spec  for the specs: the one of the contest'\''s programs that they use'
	@echo '  make rock    the module for the Lua whose headers are in LUA_INCDIR, in build/rock: LuaRocks runs it'
	@echo '  make rockspec  writes the list of Lua modules and the version into the rockspecs'
	@echo '  make libzookeeper  for the specs: a libzookeeper with TLS, if its source package can be had'
	@echo '  make format  what lint wants of the C sources'
	@echo '  make clean   remove build/'
	@echo 'And only that: make deps, for all of them; make deps test, for what test needs, before it runs'
	@echo
	@echo 'For some Lua versions only: make test LUAS="5.4 luajit"; to see the commands: make build Q='

# `deps` installs only what this run's goals need. Only goals that a user calls come here; they compile in a make of
# their own, when this is done.
DEPS = tools/deps.sh $(filter-out deps clean format help,$(MAKECMDGOALS)) \
	$(and $(filter test steady,$(MAKECMDGOALS)),$(NEIGHBOURS),neighbours) \
	$(and $(filter test-all,$(MAKECMDGOALS)),$(TLS),tls)
deps:
	@$(DEPS)

include tools/make/version.mk
include tools/make/compile.mk
include tools/make/suites.mk

build: $(MODULES) $(B)/zklock

# The command line and the library. Their files have to be built before `sudo make install`.
PREFIX = /usr/local
DESTDIR =
include tools/make/install.mk
hosts: $(HOSTS)
unit: $(UNIT) $(REPLAYS)

# `make test` tests each promise once. With SPECS: those specs, under each Lua of LUAS (5.4).
TESTED = $(if $(filter file,$(origin LUAS)),5.4,$(LUAS))
EVERYTHING = $(if $(SPECS),,yes)
define build_tested
@$(submake) build hosts $(B)/sim/simulation $(if $(NEIGHBOURS),neighbour_programs)
@$(if $(EVERYTHING),$(call instrumented,asan,unit))
@$(call tell_tested,$(B)/zklock)
endef
test: LOGS = build/test
test: deps
	@rm -rf build/test && mkdir -p build/test
	$(build_tested)
	@exec $(SUITES) -j $(AT_ONCE) -l 3600 -o $(LOGS) \
		$(foreach version,$(TESTED),$(call shared,$(version),$(if $(SPECS),1,$(SHARES)),$(call quick_specs,$(version)))) \
		$(if $(EVERYTHING),$(if $(filter luajit,$(LUAS)),$(call shared,nginx,2,$(call specs,luajit,build,,,spec/nginx)))) \
		$(if $(NEIGHBOURS),'neighbours=$(neighbour_specs)') \
		$(if $(EVERYTHING),'unit=$(unit_asan)' \
			'sim=$(B)/sim/simulation 20' \
			'costs=$(B)/sim/simulation costs spec/sim/costs.txt')

# `make test` until it has passed RUNS times in a row, beside LOAD busy loops. STEADY keeps what has passed: it may be
# called again and again with the same file.
RUNS = 20
LOAD = 0
STEADY = build/steady
steady_run = $(MAKE) -s --no-print-directory test DEPS=
steady: deps
	$(build_tested)
	@exec tools/steady.sh '$(RUNS)' '$(LOAD)' '$(STEADY)' $(steady_run)

# The rest: each other Lua, allocations that fail, TLS, rocks, the specs of tools, some of what `make nightly` does for long.
test-all: LOGS = build/test-all
test-all: deps
	@rm -rf build/test-all && mkdir -p build/test-all
	@$(submake) build hosts contest-spec $(B)/sim/simulation $(RECORDERS) $(MEMORY_LUAS:%=build/%/scarce/scarce.so) \
		$(if $(TLS),libzookeeper)
	@$(call instrumented,asan,build/asan/5.4/scarce/scarce.so)
	@$(call checked,build/checked/5.4/zklock/core.so)
	@$(call tell_tested,$(B)/zklock)
	@echo 'make chaos MINUTES=$(CHAOS) SEED=$(SEED)   # goes along'
	@set --; [ ! -e build/tls/libzookeeper_mt.so.2 ] || set -- $(if $(TLS),'tls=$(call tls_specs,--exclude-tags=slow)'); \
	exec $(SUITES) -j $(AT_ONCE) -l 3600 -o $(LOGS) \
		'rock=tools/rock.sh $(LUAS)' \
		'chaos=$(call lua,5.4,build/checked) chaos/run.lua $(CHAOS) $(SEED)' \
		'memory=$(memory_asan)' \
		$(foreach version,$(MEMORY_LUAS),'memory-$(version)=$(call memory,$(version),build,script state)') \
		$(call shared,tools,2,$(call specs,5.4,build,,,spec/harness)) \
		$(foreach version,$(filter-out 5.4,$(LUAS)),$(call shared,$(version),3,$(call quick_specs,$(version)))) \
		"$$@" \
		'sim=$(B)/sim/simulation 60 $(SEED)000' \
		'recorder=$(call record,300)' \
		'soak-lua=$(call soak_lua,4,$(SOAK_LUAS))'

neighbours: deps
	@mkdir -p build/test
	@$(submake) LUAS=5.4 build neighbour_programs
	@exec env $(if $(ROUNDS),ROUNDS=$(ROUNDS)) $(SUITES) -j 1 -l 3600 -o build/test 'neighbours=$(neighbour_specs)'

tls: deps
	@rm -rf build/test/tls && mkdir -p build/test/tls
	@$(submake) LUAS=5.4 build
	@tools/tls.sh build/tls
	@$(submake) B=build/static ZOOKEEPER=static build/static/5.4/zklock/core.so
	@exec $(SUITES) -j 1 -l 580 -o build/test/tls 'tls=$(call tls_specs)' 'static=$(tls_static)'

# Behind ClickHouse Keeper's habits, which a proxy has: all but what needs a ZooKeeper.
keeper: LOGS = build/keeper
keeper: deps
	@rm -rf build/keeper && mkdir -p build/keeper
	@$(submake) build $(B)/5.4/host
	@$(call checked,build/checked/5.4/zklock/core.so)
	@$(call tell_tested,$(B)/zklock)
	@exec env KEEPER=yes $(SUITES) -j $(AT_ONCE) -l 3600 -o $(LOGS) \
		'chaos=$(call lua,5.4,build/checked) chaos/run.lua $(CHAOS) $(SEED)' \
		$(call shared,5.4,3,$(keeper_specs))

chaos: deps
	@$(call checked,build/checked/5.4/zklock/core.so)
	@$(call tell_tested,build/checked/5.4/zklock/core.so)
	@exec env $(call lua,5.4,build/checked) chaos/run.lua $(MINUTES) $(SEED) $(KIND)

# nginx runs LuaJIT, and the plain process that it is compared with runs Lua 5.4.
soak_nginx = LUA_PATH_5_4="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;" \
	LUA_CPATH_5_4="$(CURDIR)/$(B)/5.4/?.so;;" $(call lua,luajit) soak/run.lua $1
soak: deps
	@$(submake) $(B)/5.4/zklock/core.so $(B)/luajit/zklock/core.so
	@env $(call lua,luajit) soak/reloads.lua
	@exec env $(call soak_nginx,$(MINUTES))

soak-lua: deps
	@$(submake) build
	@exec env $(call soak_lua,$$(($(MINUTES) * 60)),$(LUAS))

# $(call slow_suites,A,B,C,D,E): how many seconds the floods may take, hostile directories, those in valgrind, the hooks
# of one Lua, and what goes by the clock for minutes
slow_suites = \
	'flood@$1=$(call lua,5.4,build) $(BUSTED) --tags=flood $(spec_options) $(spec_files)' \
	'long@$5=$(call lua,5.4,build) $(BUSTED) --tags=long $(spec_options) spec/jobs spec/cli' \
	'hostile-asan@$2=$(call under_asan,$(call hostile_specs,build/asan))' \
	'hostile-tsan@$2=$(call under_tsan,$(call hostile_specs,build/tsan))' \
	'hostile-valgrind@$3=$(call hostile_specs,build,$(VALGRIND))' \
	$(foreach version,$(LUAS),\
		'hooks-$(version)@$4=HOOKS=1 $(call lua,$(version),build) $(BUSTED) $(spec_options) spec/process/hooks_spec.lua')
define build_slow
@$(submake) build hosts
@$(call instrumented,asan,build/asan/5.4/zklock/core.so build/asan/5.4/host)
@$(call instrumented,tsan,build/tsan/5.4/zklock/core.so)
endef
slow: deps
	@rm -rf build/test/slow && mkdir -p build/test/slow
	$(build_slow)
	@exec $(SUITES) -j 1 -o build/test/slow $(call slow_suites,3600,3600,3600,3600,3600)

random: deps
	@$(submake) $(B)/unit/line_random_test $(B)/unit/compound_random_test
	@status=0; for test in line compound; do \
		echo "== $${test}_random_test"; $(B)/unit/$${test}_random_test sweep $(SEEDS) || status=1; \
	done; exit $$status

model: deps
	@exec model/run.sh build/model

# Without a seed: others each time. With one: that history, step by step; KEEP=3,17 has only those of its deeds.
SECONDS = 60
KEEP =
sim: deps
	@$(submake) $(B)/sim/simulation
	@$(if $(filter command%,$(firstword $(origin SEED))),exec $(B)/sim/simulation seed $(SEED) $(KEEP),\
		exec $(B)/sim/simulation $(SECONDS) $(SEED)000)

# spec/sim/costs.txt has the exact number of requests that the simulation sends.
costs: deps
	@$(submake) $(B)/sim/simulation
	@$(B)/sim/simulation costs >$(B)/costs && mv $(B)/costs spec/sim/costs.txt && tail -n 1 spec/sim/costs.txt

fuzz: deps
	@exec fuzz/run.sh build/fuzz $(MINUTES)

# The simulation's servers are held to a real one.
COUNT = 3000
recorder: deps
	@$(submake) $(RECORDERS)
	@$(call tell_tested,$(B)/recorder/recorder_real)
	@$(call record,$(COUNT))

# The coverage by unit tests and simulation: for each room, and each line that they miss; and each legal change of a
# state (csrc/base/transitions.h) that they do not make.
COUNTERS = B=build/coverage SANITIZE='-DZKL_CHECK --coverage -O0' unit build/coverage/sim/simulation
coverage: deps
	@$(submake) $(COUNTERS)
	@find build/coverage -name '*.gcda' -delete
	@rm -f build/coverage/transitions
	@ZKL_TRANSITIONS=build/coverage/transitions tools/unit.sh build/coverage/unit
	@ZKL_TRANSITIONS=build/coverage/transitions build/coverage/sim/simulation $(SECONDS) $(SEED)000
	@$(LUA_5.4) tools/coverage.lua build/coverage

# One thing at a time is changed in the C sources. COUNT=0: everything that can be; without a seed the same ones as the
# last time, so that a run goes on where the last one ended.
FILES = $(wildcard csrc/line/*.c csrc/paths/*.c csrc/shared/*.c csrc/compound/*.c csrc/recipe/*.c) \
	$(wildcard csrc/ask/*.c csrc/query/*.c csrc/zookeeper/session*.c) csrc/zookeeper/config.c csrc/zookeeper/heart.c
# A unit test's replacement of an engine function wins over the function in a library, too.
MUTANTS = B=build/mutants CFLAGS='-O2 -fvisibility=default -fno-semantic-interposition' unit build/mutants/sim/simulation
# $(call try_mutants,OPTIONS,COUNT,SEED)
try_mutants = $(call lua,5.4) tools/mutants/run.lua $1 build/mutants build/coverage $2 $3 $(FILES)
# The input of tools/mutants/run.lua: programs, and how they were made.
define build_mutants
@$(submake) $(MUTANTS)
@$(submake) $(COUNTERS)
@mkdir -p build/mutants && $(MAKE) -s --no-print-directory -n -B Q= $(MUTANTS) >build/mutants/commands
endef
mutants: deps
	$(build_mutants)
	@exec env $(call try_mutants,,$(if $(filter command%,$(origin COUNT)),$(COUNT),200),$(if \
		$(filter command%,$(firstword $(origin SEED))),$(SEED),1))

asan: LOGS = build/asan/log
asan: deps
	@rm -rf $(LOGS) && mkdir -p $(LOGS)
	@$(call instrumented,asan,unit build/asan/5.4/zklock/core.so build/asan/5.4/host build/asan/5.4/scarce/scarce.so \
		build/asan/luajit/zklock/core.so build/asan/sim/simulation build/asan/zklock)
	@$(submake) build/luajit/zklock/core.so
	@exec $(SUITES) -j $(AT_ONCE) -l 3600 -o $(LOGS) \
		$(call specs_under,asan) \
		$(if $(EVERYTHING),$(call shared,nginx,2,$(nginx_asan)) \
			'memory=$(memory_asan)' \
			'unit=$(unit_asan)' \
			'sim=$(sanitized_asan) build/asan/sim/simulation 60')

tsan: LOGS = build/tsan/log
tsan: deps
	@rm -rf $(LOGS) && mkdir -p $(LOGS)
	@$(call instrumented,tsan,unit build/tsan/5.4/zklock/core.so build/tsan/5.4/host build/tsan/zklock)
	@exec $(SUITES) -j $(AT_ONCE) -l 3600 -o $(LOGS) \
		$(call specs_under,tsan) \
		$(if $(EVERYTHING),'unit=$(unit_tsan)')

# In a fresh minimal Debian, from a fresh clone: a package that tools/deps.sh does not name is missing there.
BARE =
bare: deps
	@exec tools/bare.sh $(if $(BARE),'$(BARE)')

lint: deps
	@tools/lint.sh

format:
	@find csrc spec bench fuzz examples -name '*.[ch]' -exec clang-format -i {} +

# The part of it that a released version has stays as it is until the next major one.
abi:
	@$(LUA_5.4) tools/abi.lua --write
	@$(LUA_5.4) tools/manual.lua --write

# VERSION=1.0.0; RELEASE_TEST: how the clone is tested that the release is made of
RELEASE_TEST = make test lint test-all
release: deps
	@exec tools/release.sh '$(VERSION)' '$(RELEASE_TEST)'

rockspec:
	@$(LUA_5.4) tools/rockspec.lua --write

demo: deps
	@$(submake) $(B)/5.4/zklock/core.so
	@exec env $(call lua,5.4) examples/flash_sale/demo.lua

picture: deps
	@$(submake) $(B)/5.4/zklock/core.so
	@mkdir -p build && env $(call lua_path,5.4) LC_ALL=C.UTF-8 TERM=xterm python3 spec/support/terminal.py '' \
		$(LUA_5.4) examples/flash_sale/demo.lua </dev/null >build/demo.shown
	@$(LUA_5.4) tools/picture.lua 'make demo: a flash sale of 200 items, without and with the lock' \
		<build/demo.shown >docs/demo.svg
	@$(submake) $(B)/zklock
	@env $(call lua,5.4) tools/run_picture.lua >build/run.shown
	@$(LUA_5.4) tools/picture.lua 'zklock run: the wait of a second machine' <build/run.shown >docs/images/run.svg

build/bench/floor: bench/floor.c
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(CC) -std=c11 -D_GNU_SOURCE -DTHREADED -pthread $(WARNINGS) $(CFLAGS) -o $@ $< -lzookeeper_mt

bench: deps
	@$(submake) $(B)/5.4/zklock/core.so $(B)/luajit/zklock/core.so build/neighbour/Curator.class \
		$(addprefix $(CONTEST)/,gozk etcd Contest.class) build/bench/floor
	@env $(call lua,5.4) bench/run.lua
	@env $(call lua,5.4) bench/family.lua
	@env $(call lua,5.4) bench/scale.lua
	@env TMPDIR=$(or $(wildcard /dev/shm),/tmp) $(call lua,5.4) bench/many.lua
	@env TMPDIR=$(or $(wildcard /dev/shm),/tmp) $(call lua,5.4) bench/one_go.lua
	@env $(call lua,luajit) bench/scale.lua 'memory cheap'
	@exec env $(call lua,luajit) bench/nginx.lua

# Counted by callgrind: of ONLY those whose names have that in them.
ONLY =
instructions: deps
	@$(submake) $(B)/5.4/zklock/core.so $(B)/luajit/zklock/core.so
	@$(if $(ONLY),,env $(call lua,5.4) bench/instructions.lua)
	@exec env $(call lua,5.4) bench/calls.lua '$(ONLY)'

screenshot: deps
	@$(submake) $(B)/5.4/zklock/core.so $(B)/luajit/zklock/core.so
	@exec env $(call lua,5.4) tools/screenshot.lua

duel: deps
	@$(submake) $(B)/zklock $(B)/5.4/zklock/core.so
	@exec env $(call lua,5.4) bench/duel.lua

include tools/make/nightly.mk
include tools/make/platforms.mk
include tools/make/packages.mk
include bench/contest/contest.mk

clean:
	rm -rf build
