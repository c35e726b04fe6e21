# SPDX-License-Identifier: MIT
# `make nightly` runs what takes too long for each change, one part after the other. At its limit a part ends, with one
# failure. The limits of four hours add up to less than that, and leave the rest to the builds
# (spec/harness/nightly_spec.lua). The last line is the sum, `N passed, N failed`.

HOURS = 4

# $(call of_night,AMOUNT[,LEAST]): an amount for four hours becomes that for HOURS; so does a whole number
scaled = $(shell awk -v hours='$(HOURS)' 'BEGIN { n = ($1) * hours / 4; printf "$3", n < $2 ? $2 : n }')
of_night = $(call scaled,$1,$(or $2,0),%g)
count_of_night = $(call scaled,$1,10,%d)
# $(call part,NAME,MINUTES,COMMAND[,GRACE]): its limit is a tenth more than the minutes, and GRACE seconds for the start
# and the end, which do not become shorter with HOURS
part = '$1@$(call scaled,$2*66+$(or $4,120)*4/$(HOURS),1,%d)=$3'
# $(call seconds_of_night,MINUTES): the limit of what has a fixed length, which is whole from two hours on
seconds_of_night = $(shell awk -v hours='$(HOURS)' 'BEGIN { \
	n = $1 * 60 * (hours < 2 ? hours / 2 : 1); printf "%d", n < 1 ? 1 : n }')

# fuzz/run.sh fuzzes one target on each processor at a time.
FUZZ_ROUNDS = $(shell echo $$((($(words $(FUZZ)) + $(JOBS) - 1) / $(JOBS))))
# The files that the runs of chaos have written, for a judge of their own (tools/history.py).
HISTORIES = chaos armfuls jobs
# A sample of mutants that nobody has tried before has survivors on each night: on 2026-11-28 tests killed 692 of 734.
MUTANTS_KILLED = 94
# In less than a minute the soak does not tell growth from a start.
SOAK_LEAST = 1
night_parts = \
	$(call part,chaos,11,HISTORY=build/nightly/chaos.jsonl $(call lua,5.4,build/checked) chaos/run.lua $(call of_night,11) $(SEED)) \
	$(call part,chaos-armfuls,10,HISTORY=build/nightly/armfuls.jsonl $(call lua,5.4,build/checked) chaos/run.lua $(call of_night,10) $(SEED) armfuls) \
	$(call part,chaos-jobs,5,HISTORY=build/nightly/jobs.jsonl $(call lua,5.4,build/checked) chaos/run.lua \
		$(call of_night,5) $(SEED) jobs) \
	'keeper@$(call seconds_of_night,13)=make -s --no-print-directory keeper DEPS= CHAOS=$(call of_night,4) SEED=$(SEED)' \
	$(call part,history,1,python3 tools/history.py $(HISTORIES:%=build/nightly/%.jsonl),60) \
	$(call part,mutants,16,$(call try_mutants,-l $(call of_night,16*60) -p $(MUTANTS_KILLED),0,$(SEED)),300) \
	$(call part,fuzz,21,fuzz/run.sh build/fuzz $(call of_night,21/$(FUZZ_ROUNDS)),360) \
	$(call part,reloads,4,$(call lua,luajit) soak/reloads.lua $(call of_night,4,0.5)) \
	$(call part,soak,11,$(call soak_nginx,$(call of_night,11,$(SOAK_LEAST))),180) \
	$(call part,soak-lua,8,$(call soak_lua,$(call of_night,8*60,4),$(LUAS)),180) \
	$(call part,recorder,12,$(call record,$(call count_of_night,1500))) \
	$(call part,random-line,8,$(B)/unit/line_random_test sweep $(call count_of_night,400)) \
	$(call part,random-compound,3,$(B)/unit/compound_random_test sweep $(call count_of_night,1000)) \
	$(call part,sim,5,$(B)/sim/simulation $(call of_night,5*60,1) $(SEED)000) \
	$(call slow_suites,$(call seconds_of_night,10),$(call seconds_of_night,3),$(call seconds_of_night,6),$(call \
		seconds_of_night,5),$(call seconds_of_night,4))

nightly: deps
	@case '$(HOURS)' in *[!0-9.]* | *.*.* | . | '') false ;; *[1-9]*) ;; *) false ;; esac || \
		{ echo "make nightly: HOURS > 0 expected, got '$(HOURS)'" >&2; exit 1; }
	@rm -rf build/nightly && mkdir -p build/nightly
	$(build_slow)
	@$(submake) $(RECORDERS) $(B)/unit/line_random_test $(B)/unit/compound_random_test $(B)/sim/simulation
	@$(call checked,build/checked/5.4/zklock/core.so)
	$(build_mutants)
	@$(call tell_tested,build/checked/5.4/zklock/core.so)
	@exec $(SUITES) -j 1 -o build/nightly $(night_parts)
