# SPDX-License-Identifier: MIT
# `make contest`: every way that people lock today, side by side. All that it needs is in this folder; bench/contest/run.lua
# says what it does.

CONTEST = build/contest
CONTEST_C = bench/contest/worker
CONTEST_PROGRAMS = $(addprefix $(CONTEST)/,flock mariadb redis redisson zookeeper gozk etcd Contest.class)
CONTEST_GO = env GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$(CURDIR)/build/neighbour/cache GOFLAGS= go build

$(CONTEST)/flock: LIBRARIES =
$(CONTEST)/mariadb: LIBRARIES = $(shell pkg-config --libs libmariadb)
$(CONTEST)/redis $(CONTEST)/redisson: LIBRARIES = -lhiredis
$(CONTEST)/zookeeper $(CONTEST)/recipe: LIBRARIES = -lzookeeper_mt
$(CONTEST)/redis $(CONTEST)/redisson: $(CONTEST_C)/redis_link.c
$(CONTEST)/zookeeper $(CONTEST)/recipe: $(CONTEST_C)/zookeeper_link.c

$(addprefix $(CONTEST)/,flock mariadb redis redisson zookeeper): $(CONTEST)/%: $(CONTEST_C)/%.c $(CONTEST_C)/worker.c \
		$(wildcard $(CONTEST_C)/*.h)
	@mkdir -p $(@D) && echo "CC $@"
	$Q$(CC) -std=c11 -D_GNU_SOURCE -DTHREADED -pthread $(WARNINGS) $(CFLAGS) -o $@ $(filter %.c,$^) $(LIBRARIES)

# ZooKeeper's recipe is in no package but its sources; where they cannot be had, the table says so.
$(CONTEST)/recipe: $(CONTEST_C)/recipe.c $(CONTEST_C)/worker.c $(wildcard $(CONTEST_C)/*.h) bench/contest/source.sh
	@mkdir -p $(@D) && echo "CC $@"
	$Qif bench/contest/source.sh $(CONTEST)/source; then \
		$(CC) -std=c11 -D_GNU_SOURCE -DTHREADED -pthread $(CFLAGS) -I$(CONTEST)/source -I/usr/include/zookeeper -o $@ \
			$(filter %.c,$^) $(CONTEST)/source/zoo_lock.c $(LIBRARIES); \
	fi

$(CONTEST)/gozk $(CONTEST)/etcd: $(CONTEST)/%: $(CONTEST_C)/worker.go $(CONTEST_C)/%/peer.go
	@mkdir -p $@.src && cp $^ $@.src && echo "GO $@"
	$Qcd $@.src && $(CONTEST_GO) -o $(CURDIR)/$@ worker.go peer.go

$(CONTEST)/Contest.class: $(CONTEST_C)/Contest.java
	@mkdir -p $(@D) && echo "JAVAC $@"
	$Qjavac -Xlint:all,-path -Werror -d $(@D) -cp $(JARS) $<

# The part of it that `make test` looks at needs no server but ZooKeeper.
contest-spec: $(CONTEST)/flock

# In memory, so that no server waits for a disk.
contest: deps
	@$(submake) $(B)/5.4/zklock/core.so $(CONTEST_PROGRAMS) $(CONTEST)/recipe
	@exec env TMPDIR=$(or $(wildcard /dev/shm),/tmp) QUICK=$(QUICK) AGAIN=$(AGAIN) $(call lua,5.4) bench/contest/run.lua $(PEERS)

.PHONY: contest contest-spec
