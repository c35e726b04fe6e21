# SPDX-License-Identifier: MIT
# The commands that run tests. Each is a suite whose output tools/suites.lua counts; where several are named, the
# longest come first. They mostly wait for servers, so four times as many as there are processors run at a time.

# Each runs a test once more that failed while the machine stood still, and shares its files with others that have the
# same CLAIMS.
BUSTED = $(shell command -v busted) -o gtest --helper=spec/support/again.lua
SUITES = $(LUA_5.4) tools/suites.lua -j $(JOBS)
# $(call tell_tested,PROGRAM): the first lines of a run, which server and which library that program finds
tell_tested = $(call lua,5.4) tools/tested.lua $1
AT_ONCE = $(shell echo $$(($(JOBS) * 4)))
SHARES = $(shell echo $$(($(JOBS) * 5 / 2)))
comma = ,

LUA_5.1 = lua5.1
LUA_5.2 = lua5.2
LUA_5.3 = lua5.3
LUA_5.4 = lua5.4
LUA_5.5 = lua5.5
LUA_luajit = luajit

# $(call lua,VERSION[,BUILD[,FOLDER]]): that interpreter, with this tree's zklock and no one's LUA_INIT.
lua_path = LUA_PATH="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;$(CURDIR)/?.lua;;" \
	LUA_CPATH="$(CURDIR)/$(or $2,$(B))/$1$3/?.so;;"
lua = $(lua_path) $(LUA_$1)
# $(call soak_lua,SECONDS,VERSIONS): these misuse it
soak_lua = $(call lua,5.4) soak/lua.lua $1 $(SEED) $(CURDIR)/build $(foreach version,$2,$(version)=$(LUA_$(version)))
unexport LUA_INIT LUA_INIT_5_2 LUA_INIT_5_3 LUA_INIT_5_4 LUA_INIT_5_5
unexport LUA_PATH_5_2 LUA_PATH_5_3 LUA_PATH_5_4 LUA_PATH_5_5 LUA_CPATH_5_2 LUA_CPATH_5_3 LUA_CPATH_5_4 LUA_CPATH_5_5

# --- specs: what SPECS says is which of them, and what busted is to do with them

spec_files = $(or $(filter spec spec/%,$(SPECS)),spec)
# Those of nginx run under LuaJIT, and those of tools apart. The longest files begin first.
LONG = $(addprefix spec/,faults/family_sweep_spec.lua cli/run_killed_spec.lua faults session cli/terminal_spec.lua security/greeting_spec.lua cli locks)
BY_FOLDER = $(LONG) $(filter-out spec/harness/ spec/nginx/,$(wildcard spec/*/))
spec_options = $(filter-out spec spec/%,$(SPECS))

# $(call specs,VERSION,BUILD[,ARGUMENTS[,TAG[,FILES]]]): all but those with that tag
# Floods take minutes (#flood), and so does what goes by the clock (#long): `make slow`. #platforms: `make platforms`.
# Some specs run under 5.4 alone (#once), some under 5.4 and LuaJIT (#slow): the engine below them is the same.
# Some run without a sanitizer (#bare), which would look at other programs, or end ours for what libzookeeper does.
specs = $(call lua,$1,$2) $(BUSTED) --exclude-tags=neighbours,flood,long,platforms$(if $4,$(comma)$4) $3 \
	$(spec_options) $(or $5,$(spec_files))
quick = $(if $(filter spec spec/%,$(SPECS)),,$(BY_FOLDER))
# $(call quick_specs,VERSION): those of `make test`. Of other Luas than 5.4, only what may differ there.
quick_specs = $(call specs,$1,build,,$(call but_for_$1),$(quick))
but_for_luajit = once
but_for_5.1 = slow$(comma)once
but_for_5.2 = slow$(comma)once
but_for_5.3 = slow$(comma)once
but_for_5.5 = slow$(comma)once
# $(call shared,NAME,COUNT,COMMAND): so many busted processes share the files; each takes the next one that none has begun.
shared = $(foreach i,$(shell seq $2),'$1$(if $(filter-out 1,$2),-$i)=CLAIMS=$(LOGS)/claims-$1 $3')
# Those of `make keeper`. #carried: of a session that goes on after its connection has broken; #zookeeper: of requests
# that only a ZooKeeper knows, or of their number.
keeper_specs = $(call specs,5.4,build,,carried$(comma)zookeeper,spec/locks spec/session spec/faults)
neighbour_specs = $(call lua,5.4,build) $(BUSTED) --tags=neighbours $(spec_options) spec/neighbours
# $(call tls_specs[,ARGUMENTS]). The library that is found first has TLS; the module is the same.
tls_specs = env LD_LIBRARY_PATH=$(CURDIR)/build/tls $(call lua,5.4,build) $(BUSTED) $1 $(spec_options) \
	spec/security/tls_spec.lua spec/docs/servers_spec.lua
# The module with that library and OpenSSL in it.
tls_static = $(call lua,5.4,build/static) $(BUSTED) --exclude-tags=slow $(spec_options) spec/security/tls_spec.lua
# $(call hostile_specs,BUILD[,PROGRAM]): a thousand directories that somebody has filled who wishes us ill, below that
# program. valgrind needs no suppressions: what the interpreter and the libraries leave behind can still be reached.
hostile_specs = $(call lua_path,5.4,$1) $2 $(LUA_5.4) $(BUSTED) --tags=flood spec/security/hostile_spec.lua
VALGRIND = valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=99 \
	--child-silent-after-fork=yes --num-callers=30
# $(call memory,VERSION,BUILD,NAMES): each allocation in turn fails, of the engine's or of the script's
memory = $(call lua,$1,$2,/scarce) $(BUSTED) $(spec_options) $(3:%=spec/memory/%.lua)
MEMORY_LUAS = $(filter 5.1 luajit,$(LUAS))

# $(call record,COUNT): the simulation's servers and a real one are asked the same
RECORDERS = $(B)/recorder/recorder_real $(B)/recorder/recorder_model
record = $(call lua,5.4) tools/recorder.lua $(B) $1

# --- sanitizers: a build of everything in a folder of its own, build/asan or build/tsan

# With ZKL_CHECK every step ends with a look at whether the state of all lines is a legal one (spec/unit/invariants.h).
ASAN = -DZKL_CHECK -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1
TSAN = -DZKL_CHECK -fsanitize=thread -fno-omit-frame-pointer -O1

submake = $(MAKE) -s --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
# $(call instrumented,asan|tsan,TARGETS)
instrumented = $(submake) B=build/$1 SANITIZE="$(if $(filter asan,$1),$(ASAN),$(TSAN))" $2

# $(call checked,TARGETS): not instrumented, but with ZKL_CHECK
checked = $(submake) B=build/checked SANITIZE=-DZKL_CHECK $1

# tools/sanitized.sh adds where reports go. They are what counts, not the exit code, which a spec would see. The specs of
# the command line run the instrumented one.
asan_env = ZKLOCK_COMMAND=$(CURDIR)/build/asan/zklock LSAN_OPTIONS=suppressions=$(CURDIR)/tools/lsan.supp:print_suppressions=0 \
	ASAN_OPTIONS=detect_leaks=$1:exitcode=0 UBSAN_OPTIONS=print_stacktrace=1
tsan_env = ZKLOCK_COMMAND=$(CURDIR)/build/tsan/zklock TSAN_OPTIONS=$(subst $(space),:,suppressions=$(CURDIR)/tools/tsan.supp \
	exitcode=66 die_after_fork=0 ignore_noninstrumented_modules=1 second_deadlock_stack=1)

# The interpreter is not instrumented, so the sanitizer's library is loaded before it. Lua processes that a spec starts
# inherit it; spec/support keeps it from Java and from sh, which would crash with ThreadSanitizer's.
preload = env LD_PRELOAD=$(call runtime,$1)
runtime = $(shell realpath "$$($(CC) -print-file-name=lib$1.so)")

# gcc's ThreadSanitizer cannot live with as much address randomization as new kernels use.
fixed_addresses = $(shell setarch -R true 2>/dev/null && echo setarch -R)

# These fail if anything is reported: $(call under_asan,COMMAND), $(call under_tsan,COMMAND) of an interpreter,
# $(sanitized_asan), $(sanitized_tsan) before an instrumented program.
sanitized_asan = $(call asan_env,1) tools/sanitized.sh
sanitized_tsan = $(tsan_env) $(fixed_addresses) tools/sanitized.sh
under_asan = $(sanitized_asan) $(call preload,asan) $1
under_tsan = $(sanitized_tsan) $(call preload,tsan) $1

unit_asan = $(sanitized_asan) tools/unit.sh build/asan/unit
# The longest of them have one thread.
unit_tsan = LEAVE_OUT="line_random_test compound_random_test validity_model_test" $(sanitized_tsan) tools/unit.sh build/tsan/unit
memory_asan = $(call under_asan,$(call memory,5.4,build/asan,engine script state))
# $(call specs_under,asan|tsan): those of `make test` under Lua 5.4. spec/harness looks at tools.
specs_under = $(call shared,5.4,$(if $(SPECS),1,$(SHARES)),$(call under_$1,$(call specs,5.4,build/$1,,bare,$(quick))))

# nginx does not free everything at its end, and is itself not instrumented: what it loads is.
nginx_asan = NGINX_PRELOAD=$(call runtime,asan) NGINX_BUILD=$(CURDIR)/build/asan/luajit $(call asan_env,0) \
	tools/sanitized.sh env $(call specs,luajit,build,,bare,spec/nginx)
