/* SPDX-License-Identifier: MIT */
/* A program that uses all of zklock.h: it is linked with each function, and gives the library each
 * struct that has a size. install_spec.lua compiles it against the header of one version, and runs
 * it with the library of another. A header whose structs have grown has `later` at their ends, and
 * then GROWN is defined.
 * usage: whole SERVERS PATH refuses|accepts     the library and a field `later` that is not 0
 * prints the library's version, and ends with 0 if each answer was the expected one */
#include <zklock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOLDER = 1, WAITER, ANSWER };

static void (*const functions[])(void) = {
#define FUNCTION(name) (void (*)(void)) name,
#include "functions.h"
#undef FUNCTION
};

static void expect(bool holds, const char *condition, int line) {
    if (!holds) {
        printf("line %d: %s\n", line, condition);
        exit(1);
    }
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/* Structs that the library fills, and behind them the program's own memory. */
#define RECEIVED(type, defaults)                                                                   \
    struct {                                                                                       \
        type all[2];                                                                               \
        unsigned char behind[512];                                                                 \
    } received_##type = {{defaults, defaults}, {0}};                                               \
    memset(received_##type.behind, 0xa5, sizeof received_##type.behind);                           \
    TOUCH_LATER(received_##type.all[0]);                                                           \
    TOUCH_LATER(received_##type.all[1])
#define ONE(type) (&received_##type.all[0])
/* The library has filled `count` of them, and nothing behind those. */
#define EXPECT_FILLED(type, count)                                                                 \
    EXPECT(is_untouched(received_##type.behind, sizeof received_##type.behind));                   \
    for (size_t i = 0; i < 2; i++) {                                                               \
        EXPECT(received_##type.all[i].size == sizeof(type));                                       \
        EXPECT_LATER(received_##type.all[i], i < (count) ? 0 : 1);                                 \
    }

#ifdef GROWN
#define TOUCH_LATER(one) (one).later[0] = (one).later[7] = 1
#define EXPECT_LATER(one, value)                                                                   \
    EXPECT((one).later[0] == (value));                                                             \
    EXPECT((one).later[7] == (value))
#else
#define TOUCH_LATER(one) (void)(one)
#define EXPECT_LATER(one, value) (void)(one)
#endif

static bool is_untouched(const unsigned char *bytes, size_t size) {
    while (size && bytes[size - 1] == 0xa5)
        size--;
    return !size;
}

static zkl_nanos soon(void) {
    return zkl_clock_after(zkl_now(), 60);
}

static zkl_event next(zkl_client *client, uint64_t tag) {
    zkl_event event;
    EXPECT(zkl_wait(client, tag, soon(), &event) == ZKL_OK);
    return event;
}

static zkl_contender *join(zkl_client *client, const char *path, uint64_t tag) {
    zkl_contender *contender;
    zkl_sharing sharing = ZKL_SHARING_DEFAULTS;
    zkl_terms terms = ZKL_TERMS_DEFAULTS;
    sharing.linger = 0;
    terms.deadline = soon();
    if (tag == HOLDER)
        terms.sharing = &sharing;
    EXPECT(zkl_join(client, path, tag, &terms, &contender) == ZKL_OK);
    return contender;
}

/* A library may accept a field that it knows, and refuses one that it lacks. */
static void use_later_fields(const zkl_config *given, zkl_client *client, const char *path,
                             zkl_status status) {
#ifdef GROWN
    zkl_client *other = NULL;
    zkl_contender *contender = NULL;
    zkl_config config = *given;
    zkl_sharing sharing = ZKL_SHARING_DEFAULTS;
    zkl_terms terms = ZKL_TERMS_DEFAULTS, sharing_terms = ZKL_TERMS_DEFAULTS;
    zkl_op op = ZKL_OP_DEFAULTS;
    config.later[7] = terms.later[7] = sharing.later[7] = op.later[7] = 1;
    EXPECT(zkl_open(&config, &other) == status);
    zkl_free(other);
    EXPECT(zkl_join(client, path, WAITER, &terms, &contender) == status);
    zkl_drop(contender);
    contender = NULL;
    sharing_terms.sharing = &sharing;
    EXPECT(zkl_join(client, path, WAITER, &sharing_terms, &contender) == status);
    zkl_drop(contender);
    op.path = path;
    zkl_node_request *request = zkl_node_do(client, &op, ANSWER, soon(), false);
    EXPECT(next(client, ANSWER).status == status);
    zkl_node_request_drop(request);
#else
    (void)given, (void)client, (void)path, (void)status;
#endif
}

/* Both ends of a line, as the library tells of them. */
static void ask(zkl_client *client, const char *path) {
    zkl_contender *holder = join(client, path, HOLDER);
    const zkl_event granted = next(client, HOLDER);
    EXPECT(granted.kind == ZKL_EVENT_GRANTED);
    zkl_contender *waiter = join(client, path, WAITER);

    RECEIVED(zkl_participant, ZKL_PARTICIPANT_DEFAULTS);
    do {
        zkl_query *query = zkl_query_participants(client, path, false, ANSWER, soon(), false);
        EXPECT(next(client, ANSWER).status == ZKL_OK);
        EXPECT(zkl_participant_at(query, 0, ONE(zkl_participant)));
        EXPECT(ONE(zkl_participant)->token == granted.token && ONE(zkl_participant)->mine);
        const bool both = zkl_participant_at(query, 1, ONE(zkl_participant));
        zkl_query_drop(query);
        if (both)
            break;
    } while (true);
    EXPECT(!ONE(zkl_participant)->holder);
    EXPECT_FILLED(zkl_participant, 1);

    zkl_query *query = zkl_query_front(waiter, ANSWER, soon());
    EXPECT(next(client, ANSWER).status == ZKL_OK);
    zkl_query_drop(query);
    RECEIVED(zkl_front, ZKL_FRONT_DEFAULTS);
    EXPECT(zkl_front_of(waiter, ONE(zkl_front)));
    EXPECT(ONE(zkl_front)->ahead == 1 && ONE(zkl_front)->of == 2 && ONE(zkl_front)->own);
    EXPECT_FILLED(zkl_front, 1);

    RECEIVED(zkl_stats, ZKL_STATS_DEFAULTS);
    RECEIVED(zkl_measures, ZKL_MEASURES_DEFAULTS);
    RECEIVED(zkl_counts, ZKL_COUNTS_DEFAULTS);
    EXPECT(zkl_client_stats(client, ONE(zkl_stats)) == ZKL_OK);
    EXPECT(ONE(zkl_stats)->held == 1 && ONE(zkl_stats)->waiting == 1);
    EXPECT_FILLED(zkl_stats, 1);
    EXPECT(zkl_client_measure(client, ONE(zkl_measures), ONE(zkl_stats), ONE(zkl_counts), 2) ==
           ZKL_OK);
    EXPECT(ONE(zkl_measures)->count == 1 && ONE(zkl_measures)->validity > 0);
    EXPECT(ONE(zkl_counts)->held == 1 && ONE(zkl_counts)->waiting == 1);
    EXPECT(ONE(zkl_stats)->acquired == 1);
    EXPECT_FILLED(zkl_measures, 1);
    EXPECT_FILLED(zkl_counts, 1);

    EXPECT(zkl_release(holder) == ZKL_OK);
    EXPECT(next(client, WAITER).token > granted.token);
    zkl_drop(holder);
    EXPECT(zkl_release(waiter) == ZKL_OK);
    zkl_drop(waiter);
}

static zkl_op operation(zkl_op_kind kind, const char *path, const char *data) {
    zkl_op op = ZKL_OP_DEFAULTS;
    op.kind = kind;
    op.path = path;
    op.data = data;
    op.length = strlen(data);
    return op;
}

/* Writes in one go, whose elements are as far apart as the program's struct is long, and reads. */
static void write_and_read(zkl_client *client, const char *path) {
    char name[256];
    snprintf(name, sizeof name, "%s/node", path);
    const zkl_op ops[] = {operation(ZKL_OP_CREATE, name, "first"),
                          operation(ZKL_OP_SET, name, "second"), operation(ZKL_OP_CHECK, name, "")};
    zkl_node_request *request =
        zkl_node_do_all(client, ops, sizeof ops / sizeof *ops, NULL, ANSWER, soon(), false);
    EXPECT(next(client, ANSWER).status == ZKL_OK);
    zkl_node_request_drop(request);

    const zkl_op get = operation(ZKL_OP_GET, name, "");
    request = zkl_node_do(client, &get, ANSWER, soon(), false);
    EXPECT(next(client, ANSWER).status == ZKL_OK);
    const zkl_content *content = zkl_node_request_content(request, 0);
    EXPECT(content->size >= sizeof(size_t) + sizeof(zkl_stat) && content->stat.version == 1);
    EXPECT(!strcmp(content->data, "second"));
    zkl_node_request_drop(request);

    const zkl_op drop = operation(ZKL_OP_DELETE, name, "");
    request = zkl_node_do(client, &drop, ANSWER, soon(), false);
    EXPECT(next(client, ANSWER).status == ZKL_OK);
    zkl_node_request_drop(request);
}

int main(int argc, char **argv) {
    EXPECT(argc == 4);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        EXPECT(functions[i] != NULL);
    zkl_client *client;
    zkl_config config = ZKL_CONFIG_DEFAULTS;
    config.hosts = argv[1];
    EXPECT(zkl_open(&config, &client) == ZKL_OK);
    ask(client, argv[2]);
    write_and_read(client, argv[2]);
    use_later_fields(&config, client, argv[2],
                     strcmp(argv[3], "accepts") ? ZKL_BAD_ARGUMENT : ZKL_OK);
    zkl_free(client);
    puts(zkl_version());
}
