/* SPDX-License-Identifier: MIT */
/* A contestant's program: does what the lines on its stdin say, each answered by one line. See crew.lua. */
#include "worker.h"

#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 512, LOCKS = 1024, WORD = 256, LONGEST_WAIT = 100000 };

static _Thread_local char failure[256];
static long wakeups;

enum outcome fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(failure, sizeof failure, format, list);
    va_end(list);
    for (char *at = failure; *at; at++) {
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    }
    return FAILED;
}

void woken(void) {
    __atomic_add_fetch(&wakeups, 1, __ATOMIC_RELAXED);
}

long long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

long long now_ms(void) {
    return now_us() / 1000;
}

long long deadline(long timeout) {
    return timeout == FOR_EVER ? LLONG_MAX : now_ms() + timeout;
}

void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0) {
    }
}

bool wait_ms(pthread_cond_t *change, pthread_mutex_t *mutex, long long ms) {
    struct timespec then;
    clock_gettime(CLOCK_REALTIME, &then);
    long long ns = then.tv_nsec + (ms < LONGEST_WAIT ? ms : LONGEST_WAIT) * 1000000;
    then.tv_sec += ns / 1000000000;
    then.tv_nsec = ns % 1000000000;
    return pthread_cond_timedwait(change, mutex, &then) == 0;
}

void pause_until(long long end) {
    static _Thread_local unsigned seed;
    if (!seed && getrandom(&seed, sizeof seed, 0) < 0)
        seed = (unsigned)now_us();
    long long left = end - now_ms(), pause = 10 + rand_r(&seed) % 21;
    if (left > 0)
        sleep_ms((long)(left < pause ? left : pause));
}

void unique(char *text, unsigned size) {
    unsigned long long number = 0;
    if (getrandom(&number, sizeof number, 0) < 0)
        number = (unsigned long long)now_us();
    snprintf(text, size, "%d-%016llx", (int)getpid(), number);
}

/* ---- clients and their locks ---------------------------------------------------------------------------------- */

static void *clients[CLIENTS];
static int client_count;

static struct known {
    void *client, *lock;
    char name[WORD];
} known[LOCKS];
static int known_count;

static void close_all(void) {
    for (int i = 0; i < client_count; i++)
        peer_close(clients[i]);
    client_count = known_count = 0;
}

static void *lock_of(void *client, const char *name) {
    for (int i = 0; i < known_count; i++) {
        if (known[i].client == client && strcmp(known[i].name, name) == 0)
            return known[i].lock;
    }
    void *lock = known_count < LOCKS ? peer_lock(client, name) : NULL;
    if (!lock)
        return NULL;
    struct known *new = &known[known_count++];
    new->client = client;
    new->lock = lock;
    snprintf(new->name, sizeof new->name, "%s", name);
    return lock;
}

static void say_failure(void) {
    printf("no %s\n", failure);
}

static void open_clients(const char *servers, long ttl, int count, const char *way) {
    close_all();
    while (client_count < count && client_count < CLIENTS) {
        void *client = peer_open(servers, ttl, way);
        if (!client)
            return say_failure();
        clients[client_count++] = client;
    }
    printf("ok\n");
}

/* ---- one step at a time ----------------------------------------------------------------------------------------- */

static void acquire(void *lock, long timeout) {
    long long token = 0;
    switch (peer_acquire(lock, timeout, &token)) {
    case DONE:
        printf("ok %lld %lld\n", token, now_us());
        break;
    case LATE:
        printf("late\n");
        break;
    case FAILED:
        say_failure();
        break;
    }
}

static void release(void *lock) {
    long long now = now_us();
    if (peer_release(lock) == DONE) {
        printf("ok %lld\n", now);
    } else {
        say_failure();
    }
}

static void held(void *lock) {
    int answer = peer_held(lock);
    printf("%s\n", answer < 0 ? "-" : answer ? "yes" : "no");
}

/* ---- many rounds ------------------------------------------------------------------------------------------------ */

struct round {
    int contender;
    long long asked, granted, releasing, released, token;
};

struct contender {
    pthread_t thread;
    int number, first_lock, lock_count; /* takes these locks in turn */
    void **locks;
    long long end;
    long rounds, hold;
    struct round *log;
    size_t count, room;
    long failures;
};

static pthread_barrier_t start;

static void note(struct contender *self, const struct round *round) {
    if (self->count == self->room) {
        self->room = self->room ? self->room * 2 : 256;
        self->log = realloc(self->log, self->room * sizeof *self->log);
        if (!self->log)
            abort();
    }
    self->log[self->count++] = *round;
}

static void play(struct contender *self, void *lock, int name) {
    struct round round = {.contender = name, .asked = now_us()};
    long left = (long)(self->end - now_ms());
    enum outcome outcome = left > 0 ? peer_acquire(lock, left, &round.token) : LATE;
    if (outcome == FAILED)
        self->failures++;
    if (outcome != DONE)
        return;
    round.granted = now_us();
    if (self->hold > 0)
        usleep((unsigned)self->hold);
    round.releasing = now_us();
    if (peer_release(lock) != DONE)
        self->failures++;
    round.released = now_us();
    note(self, &round);
}

static void *contend(void *argument) {
    struct contender *self = argument;
    pthread_barrier_wait(&start);
    self->end += now_ms();
    for (long round = 0; round < self->rounds && now_ms() < self->end; round++) {
        int n = (int)(round % self->lock_count);
        play(self, self->locks[self->first_lock + n], self->number + n);
    }
    return NULL;
}

static void write_log(struct contender *all, int count, const char *path) {
    FILE *file = fopen(path, "w");
    size_t sum = 0;
    long failures = 0;
    for (int i = 0; i < count; i++) {
        failures += all[i].failures;
        for (size_t n = 0; file && n < all[i].count; n++, sum++) {
            struct round *one = &all[i].log[n];
            fprintf(file, "%d %lld %lld %lld %lld %lld\n", one->contender, one->asked, one->granted,
                    one->releasing, one->released, one->token);
        }
        free(all[i].log);
    }
    if (!file || fclose(file) != 0) {
        printf("no cannot write %s\n", path);
    } else {
        printf("ok %zu %ld %ld\n", sum, failures, __atomic_load_n(&wakeups, __ATOMIC_RELAXED));
    }
}

/* With locks == 0 each client contends for the same one; else the first client has so many, each with a thread, or
 * taken in turn if threads cannot share the client. */
static void run(int locks, const char *name, long ms, long rounds, long hold, const char *path) {
    static void *each[LOCKS];
    static struct contender all[LOCKS];
    int count = locks ? locks : client_count;
    for (int i = 0; i < count && count <= LOCKS; i++) {
        char own[WORD];
        snprintf(own, sizeof own, locks ? "%.200s-%d" : "%.200s", name, i);
        each[i] = lock_of(clients[locks ? 0 : i], own);
        if (!each[i])
            return say_failure();
    }
    int threads = locks && !peer_is_shared ? 1 : count;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    __atomic_store_n(&wakeups, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < threads; i++) {
        all[i] = (struct contender){.number = i,
                                    .first_lock = i,
                                    .lock_count = threads < count ? count : 1,
                                    .locks = each,
                                    .end = ms,
                                    .rounds = rounds,
                                    .hold = hold};
        if (pthread_create(&all[i].thread, NULL, contend, &all[i]) != 0)
            abort();
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].thread, NULL);
    pthread_barrier_destroy(&start);
    write_log(all, threads, path);
}

/* ---- the flash sale --------------------------------------------------------------------------------------------- */

struct shop {
    FILE *in, *out;
};

static bool visit(struct shop *shop, const char *address) {
    char host[WORD];
    snprintf(host, sizeof host, "%s", address);
    char *port = strrchr(host, ':');
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
    if (!port)
        return NULL;
    *port++ = 0;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return NULL;
    int link = socket(found->ai_family, SOCK_STREAM, 0), yes = 1;
    bool there = connect(link, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    setsockopt(link, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    shop->in = there ? fdopen(link, "r") : NULL;
    shop->out = there ? fdopen(dup(link), "w") : NULL;
    return there;
}

static const char *ask(const struct shop *shop, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *ask(const struct shop *shop, const char *format, ...) {
    static char answer[WORD];
    va_list list;
    va_start(list, format);
    vfprintf(shop->out, format, list);
    fputc('\n', shop->out);
    va_end(list);
    fflush(shop->out);
    if (!fgets(answer, sizeof answer, shop->in))
        snprintf(answer, sizeof answer, "closed");
    answer[strcspn(answer, "\n")] = 0;
    return answer;
}

/* One item: false when the shop is closed. */
static bool sell(const struct shop *shop, void *lock) {
    long long token = 0;
    if (strcmp(ask(shop, "ask"), "ok") != 0)
        return false;
    enum outcome outcome = peer_acquire(lock, 1000, &token);
    if (outcome != DONE) {
        if (outcome == FAILED)
            sleep_ms(50);
        return strcmp(ask(shop, "quit %s", outcome == LATE ? "late" : failure), "closed") != 0;
    }
    long stock = atol(ask(shop, "enter %lld", token));
    if (stock > 0) {
        ask(shop, "pay");
        int sure = peer_held(lock);
        ask(shop, "write %ld %lld %s", stock - 1, token, sure < 0 ? "-" : sure ? "yes" : "no");
    }
    bool released = peer_release(lock) == DONE;
    return strcmp(ask(shop, "leave %s", released ? "ok" : "no"), "closed") != 0;
}

static void sell_all(const char *address, const char *name, const char *buyer) {
    void *lock = lock_of(clients[0], name);
    if (!lock)
        return say_failure();
    struct shop shop;
    if (!visit(&shop, address)) {
        printf("no the shop cannot be reached\n");
        return;
    }
    ask(&shop, "buyer %s", buyer);
    while (sell(&shop, lock)) {
    }
    fclose(shop.in);
    fclose(shop.out);
    printf("ok\n");
}

/* ----------------------------------------------------------------------------------------------------------------- */

static void perform(char words[][WORD], int count) {
    const char *verb = words[0];
    if (strcmp(verb, "open") == 0 && count == 5) {
        open_clients(words[1], atol(words[2]), atoi(words[3]), words[4]);
    } else if (strcmp(verb, "close") == 0) {
        close_all();
        printf("ok\n");
    } else if (strcmp(verb, "run") == 0 && count == 7) {
        run(atoi(words[1]), words[2], atol(words[3]), atol(words[4]), atol(words[5]), words[6]);
    } else if (strcmp(verb, "sell") == 0 && count == 4) {
        sell_all(words[1], words[2], words[3]);
    } else {
        void *lock = count > 1 && client_count > 0 ? lock_of(clients[0], words[1]) : NULL;
        if (!lock) {
            printf("no %s\n", *failure ? failure : "open first");
        } else if (strcmp(verb, "acquire") == 0 && count == 3) {
            acquire(lock, atol(words[2]));
        } else if (strcmp(verb, "release") == 0) {
            release(lock);
        } else if (strcmp(verb, "held") == 0) {
            held(lock);
        } else {
            printf("no such verb\n");
        }
    }
}

int main(void) {
    char line[2048], words[8][WORD];
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready\n");
    while (fgets(line, sizeof line, stdin)) {
        int count = 0;
        for (char *word = strtok(line, " \n"); word && count < 8; word = strtok(NULL, " \n")) {
            snprintf(words[count++], WORD, "%s", word);
        }
        *failure = 0;
        if (count > 0)
            perform(words, count);
    }
    close_all();
    return 0;
}
