/* SPDX-License-Identifier: MIT */
/* contenders: the host's side of a lock: joining, releasing, and questions about one contender. */
#include "client/client_state.h"

#include "ask/ask.h"
#include "base/clock.h"
#include "base/counts.h"
#include "base/sized.h"
#include "client/access.h"
#include "client/deadlock.h"
#include "compound/compound.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "line/line.h"
#include "line/line_state.h"
#include "line/lines.h"
#include "line/slow.h"
#include "paths/node_budget.h"
#include "shared/node.h"
#include "shared/sharer.h"
#include "zklock_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STINT_MOST (3600 * ZKL_SECOND)

/* locked */
static zkl_status usable(const zkl_client *client) {
    if (client->closing)
        return ZKL_CLOSED;
    return client->session.state == ZKL_STATE_AUTH_FAILED ? ZKL_AUTH_FAILED : ZKL_OK;
}

/* The terms as the caller has filled them. */
typedef struct taken {
    zkl_terms terms;
    zkl_sharing sharing; /* that of the terms */
} taken;

static bool take_terms(taken *all, const zkl_terms *terms) {
    all->terms = (zkl_terms)ZKL_TERMS_DEFAULTS;
    if (!zkl_sized_take(&all->terms, terms))
        return false;
    if (!all->terms.sharing)
        return true;
    all->sharing = (zkl_sharing)ZKL_SHARING_DEFAULTS;
    const bool sound = zkl_sized_take(&all->sharing, all->terms.sharing);
    all->terms.sharing = &all->sharing;
    return sound;
}

/* The contender that joins; its paths are full, once they are known. */
typedef struct joining {
    const char *const *paths;
    size_t path_count;
    size_t leases;
    bool all;
    uint64_t tag;
    const zkl_terms *terms;
} joining;

/* locked */
static zkl_contender *join_compound(zkl_client *client, const joining *j) {
    for (size_t i = 0; i < j->path_count; i++) {
        zkl_line *line = zkl_lines_find(&client->lines, j->paths[i]);
        if (line)
            zkl_line_make_way(line);
    }
    if (j->all)
        return zkl_compound_join_all(&client->lines, j->paths, j->path_count, j->tag, j->terms);
    return zkl_compound_join_leases(&client->lines, j->paths[0], j->paths[1], j->leases, j->tag,
                                    j->terms);
}

/* locked */
static zkl_contender *join(zkl_client *client, const joining *j) {
    if (j->all || j->leases)
        return join_compound(client, j);
    zkl_line *line = zkl_lines_find_or_make(&client->lines, j->paths[0]);
    if (!line)
        return NULL;
    if (j->terms->sharing)
        return zkl_shared_node_join(line, j->tag, j->terms);
    zkl_line_make_way(line);
    return zkl_line_join(line, j->tag, j->terms);
}

/* Leases and multilocks have nodes of their own. */
static bool is_sensible_sharing(const joining *j) {
    const zkl_sharing *sharing = j->terms->sharing;
    return !sharing || (!j->all && j->terms->kind != ZKL_KIND_LEASE && sharing->stint >= 0 &&
                        sharing->stint <= STINT_MOST && sharing->linger >= 0);
}

/* The caller has checked the path of leases; those here are below it, and NULL if there was no
 * memory for them. */
static bool is_sensible(const joining *j, const char *const *paths) {
    const zkl_terms *terms = j->terms;
    bool valid = j->path_count > 0 && terms->kind >= ZKL_KIND_LOCK &&
                 terms->kind <= ZKL_KIND_LEASE && terms->max_hold >= 0 && terms->slow >= 0 &&
                 terms->owner <= ZKL_OWNER_MOST && is_sensible_sharing(j);
    if (j->all || j->leases)
        valid = valid && terms->kind == (j->all ? ZKL_KIND_LOCK : ZKL_KIND_LEASE);
    if (terms->kind == ZKL_KIND_LEASE)
        valid = valid && terms->permits > 0 && j->leases <= terms->permits;
    for (size_t i = 0; valid && !j->leases && i < j->path_count; i++)
        valid = zkl_path_is_lock(paths[i]);
    return valid;
}

/* By the bytes, but a slash comes before all others: behind a path come those below it. */
static int compare_paths(const void *left, const void *right) {
    const unsigned char *a = *(const unsigned char *const *)left,
                        *b = *(const unsigned char *const *)right;
    while (*a && *a == *b)
        a++, b++;
    const int first = *a == '/' ? 1 : *a, second = *b == '/' ? 1 : *b;
    return first - second;
}

static bool is_at_or_below(const char *path, const char *above) {
    const size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && (!path[length] || path[length] == '/');
}

/* ZKL_BAD_ARGUMENT: two of the paths are the same, or one is below another. */
static zkl_status compare_all(const char *const *paths, size_t count) {
    const char **sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return ZKL_NO_MEMORY;
    memcpy(sorted, paths, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_paths);
    bool apart = true;
    for (size_t i = 1; apart && i < count; i++)
        apart = !is_at_or_below(sorted[i], sorted[i - 1]);
    free(sorted);
    return apart ? ZKL_OK : ZKL_BAD_ARGUMENT;
}

static void free_paths(char **paths) {
    for (size_t i = 0; paths && paths[i]; i++)
        free(paths[i]);
    free(paths);
}

/* A NULL stands behind the last one. NULL: no memory. */
static char **below_chroot(const zkl_client *client, const char *const *paths, size_t count) {
    char **full = calloc(count + 1, sizeof *full);
    for (size_t i = 0; full && i < count; i++) {
        full[i] = zkl_client_full_path(client, paths[i]);
        if (!full[i]) {
            free_paths(full);
            return NULL;
        }
    }
    return full;
}

/* A step. Without memory for its paths they are NULL. */
static zkl_status join_in_step(zkl_client *client, const joining *j, zkl_contender **contender) {
    zkl_client_enter(client);
    zkl_status status = usable(client);
    if (status == ZKL_OK && j->paths &&
        zkl_deadlock_closes(&client->lines, j->paths, j->path_count, j->terms))
        status = ZKL_DEADLOCK;
    if (status == ZKL_OK) {
        *contender = j->paths ? join(client, j) : NULL;
        if (*contender) {
            zkl_client_use(client);
            if (j->terms->slow)
                zkl_slow_begin(*contender, j->terms->slow);
        } else {
            status = ZKL_NO_MEMORY;
        }
    }
    if (status != ZKL_OK)
        zkl_counts_ended(&client->context.counts, j->terms->name, status, 0);
    zkl_client_leave_waiting(client, j->terms->once ? ZKL_NEVER : j->terms->deadline);
    return status;
}

/* With the terms as the caller has filled them, and paths without the chroot; NULL: there was no
 * memory for one. */
static zkl_status join_at(zkl_client *client, const char *const *paths, const joining *asked,
                          zkl_contender **contender) {
    taken own;
    joining j = *asked;
    if (zkl_client_forked(client))
        return ZKL_FORKED;
    if (!take_terms(&own, asked->terms))
        return ZKL_BAD_ARGUMENT;
    j.terms = &own.terms;
    if (!is_sensible(&j, paths))
        return ZKL_BAD_ARGUMENT;
    const zkl_status apart = j.all ? compare_all(paths, j.path_count) : ZKL_OK;
    if (apart != ZKL_OK)
        return apart;
    const bool is_below = client->context.chroot > 0;
    bool complete = true;
    for (size_t i = 0; i < j.path_count; i++)
        complete = complete && paths[i];
    char **full = complete && is_below ? below_chroot(client, paths, j.path_count) : NULL;
    if (complete)
        j.paths = is_below ? (const char *const *)full : paths;
    const zkl_status status = join_in_step(client, &j, contender);
    free_paths(full);
    return status;
}

zkl_status zkl_join(zkl_client *client, const char *path, uint64_t tag, const zkl_terms *terms,
                    zkl_contender **contender) {
    const joining one = {.path_count = 1, .tag = tag, .terms = terms};
    return join_at(client, &path, &one, contender);
}

zkl_status zkl_join_all(zkl_client *client, const char *const *paths, size_t count, uint64_t tag,
                        const zkl_terms *terms, zkl_contender **contender) {
    const joining all = {.path_count = count, .all = true, .tag = tag, .terms = terms};
    return join_at(client, paths, &all, contender);
}

zkl_status zkl_join_leases(zkl_client *client, const char *path, size_t count, uint64_t tag,
                           const zkl_terms *terms, zkl_contender **contender) {
    if (zkl_client_forked(client))
        return ZKL_FORKED;
    if (!count || !zkl_path_is_lock(path))
        return ZKL_BAD_ARGUMENT;
    const joining all = {.path_count = 2, .leases = count, .tag = tag, .terms = terms};
    char *gate = NULL, *leases = NULL;
    if (asprintf(&gate, "%s/locks", path) < 0)
        gate = NULL;
    if (asprintf(&leases, "%s/leases", path) < 0)
        leases = NULL;
    const zkl_status status = join_at(client, (const char *const[]){gate, leases}, &all, contender);
    free(gate);
    free(leases);
    return status;
}

/* NULL in a fork of the process that opened the client; then nothing was touched. */
static zkl_client *enter(const zkl_contender *contender) {
    zkl_client *client = zkl_client_of(contender->context);
    return zkl_client_begin(client) ? client : NULL;
}

static zkl_status end(zkl_contender *contender, zkl_status (*call)(zkl_contender *)) {
    zkl_client *client = enter(contender);
    if (!client)
        return ZKL_FORKED;
    const zkl_status status = client->closing ? ZKL_CLOSED : call(contender);
    zkl_client_leave(client);
    return status;
}

zkl_status zkl_release(zkl_contender *contender) {
    return end(contender, contender->call->release);
}

zkl_status zkl_give_up(zkl_contender *contender) {
    return end(contender, contender->call->give_up);
}

bool zkl_shortage_text(zkl_contender *contender, char *text, size_t size) {
    zkl_client *client = enter(contender);
    if (!client)
        return false;
    const bool known = contender->shortage.asked > 0;
    if (known)
        zkl_node_budget_explain(&client->lines.common.node_budget, &contender->shortage, text,
                                size);
    zkl_client_unlock(client);
    return known;
}

/* locked */
static zkl_status standing(const zkl_client *client, const zkl_contender *contender) {
    if (client->closing)
        return ZKL_CLOSED;
    if (contender->phase == ZKL_HELD)
        return zkl_doubt_about(contender);
    return contender->outcome == ZKL_LOST ? ZKL_LOST : ZKL_NOT_OWNER;
}

zkl_status zkl_would_release(zkl_contender *contender) {
    zkl_client *client = enter(contender);
    if (!client)
        return ZKL_FORKED;
    const zkl_status status = standing(client, contender);
    zkl_client_unlock(client);
    return status;
}

zkl_status zkl_extend(zkl_contender *contender, zkl_nanos max_hold) {
    if (max_hold < 0)
        return ZKL_BAD_ARGUMENT;
    zkl_client *client = enter(contender);
    if (!client)
        return ZKL_FORKED;
    zkl_status status = standing(client, contender);
    if (status == ZKL_OK || status == ZKL_UNKNOWN) {
        zkl_contender_extend(contender, max_hold);
        status = ZKL_OK;
    }
    zkl_client_unlock(client);
    return status;
}

/* No step ends here, because nothing has changed for anybody else. */
static bool shortly(zkl_contender *contender, bool (*move)(zkl_contender *)) {
    zkl_client *client = enter(contender);
    if (!client)
        return false;
    const bool done = !client->closing && move(contender);
    zkl_client_unlock(client);
    return done;
}

bool zkl_rest(zkl_contender *contender) {
    return shortly(contender, zkl_sharer_rest);
}

bool zkl_take_again(zkl_contender *contender) {
    return shortly(contender, zkl_sharer_take_again);
}

bool zkl_given_back(zkl_contender *contender) {
    zkl_client *client = enter(contender);
    if (!client)
        return false;
    const bool given_back = contender->phase == ZKL_OVER && contender->outcome == ZKL_OK;
    zkl_client_unlock(client);
    return given_back;
}

void zkl_cancel(zkl_contender *contender) {
    zkl_client *client = enter(contender);
    if (!client)
        return;
    contender->call->cancel(contender, ZKL_CANCELLED);
    zkl_client_leave(client);
}

/* locked. Its node is gone, and its line has removed it. */
static bool is_retired(const zkl_contender *contender) {
    return contender->tally && !contender->line;
}

/* Nobody else notices the drop of a retired one, so no step ends there. */
void zkl_drop(zkl_contender *contender) {
    zkl_client *client = contender ? enter(contender) : NULL;
    if (!client)
        return;
    const bool retired = is_retired(contender);
    zkl_asks_forget(&client->queries.asks, contender);
    zkl_asks_forget(&client->nodes.asks, contender);
    zkl_asks_forget(&client->onces.asks, contender);
    contender->call->drop(contender);
    if (retired) {
        zkl_contenders_sweep(&client->lines.common);
        zkl_client_unlock(client);
    } else {
        zkl_client_leave(client);
    }
    zkl_client_unuse(client);
}

bool zkl_waited(zkl_contender *contender) {
    zkl_client *client = enter(contender);
    if (!client)
        return false;
    const bool waited = contender->waited;
    zkl_client_unlock(client);
    return waited;
}

bool zkl_held(zkl_contender *contender) {
    zkl_client *client = zkl_client_of(contender->context);
    if (zkl_client_forked(client))
        return false;
    return contender->hold_until != 0;
}

int64_t zkl_token(zkl_contender *contender) {
    return zkl_held(contender) ? contender->token : 0;
}

bool zkl_turn(zkl_contender *contender, uint64_t *turn) {
    zkl_client *client = enter(contender);
    if (!client)
        return false;
    const bool held = contender->phase == ZKL_HELD;
    *turn = zkl_sharer_turn(contender);
    zkl_client_unlock(client);
    return held;
}

void zkl_hurry(zkl_client *client) {
    if (!zkl_client_begin(client))
        return;
    zkl_shared_nodes_hurry(&client->lines);
    zkl_client_leave(client);
}

double zkl_validity(zkl_contender *contender) {
    zkl_client *client = zkl_client_of(contender->context);
    if (zkl_client_forked(client))
        return 0;
    const zkl_nanos until = zkl_contender_valid_until(contender);
    const zkl_nanos left = until ? until - zkl_context_now(&client->context) : 0;
    return left > 0 ? zkl_clock_seconds(left) : 0;
}
