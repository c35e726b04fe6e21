/* SPDX-License-Identifier: MIT */
/* Locks in a table of MariaDB. way "row": SELECT ... FOR UPDATE in a transaction that lasts as long as the hold;
 * "unique": a row is inserted to lock and deleted to unlock, and swept away by the others once it is too old. */
#include "worker.h"

#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <mariadb/mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bool peer_is_shared = false;

struct client {
    MYSQL link;
    char host[64];
    unsigned port;
    long ttl;
    bool rows, up;
};

struct lock {
    struct client *client;
    char name[128], owner[64];
    bool made, held;
    unsigned long thread;
    long long id;
};

static void hang_up(struct client *self) {
    if (self->up)
        mysql_close(&self->link);
    self->up = false;
}

static enum outcome complain(struct client *self) {
    unsigned error = mysql_errno(&self->link);
    enum outcome outcome = fail("%u %s", error, mysql_error(&self->link));
    if (error >= CR_MIN_ERROR || error == ER_CONNECTION_KILLED || error == ER_SERVER_SHUTDOWN)
        hang_up(self);
    return outcome;
}

static enum outcome say(struct client *self, const char *text) {
    if (!self->up)
        return fail("no link");
    if (mysql_query(&self->link, text) != 0)
        return complain(self);
    MYSQL_RES *result = mysql_store_result(&self->link);
    if (result)
        mysql_free_result(result);
    return mysql_errno(&self->link) ? complain(self) : DONE;
}

/* A transaction whose client is silent for the ttl is ended by the server, as with the others a session; without
 * that a stopped holder would keep its lock for wait_timeout, eight hours. */
static enum outcome call(struct client *self) {
    if (self->up)
        return DONE;
    unsigned seconds = 3;
    mysql_init(&self->link);
    mysql_options(&self->link, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    if (!self->rows)
        mysql_options(&self->link, MYSQL_OPT_READ_TIMEOUT,
                      &seconds); /* for a row the server waits */
    if (!mysql_real_connect(&self->link, self->host, "root", "", "contest", self->port, NULL, 0)) {
        fail("%s", mysql_error(&self->link));
        mysql_close(&self->link);
        return FAILED;
    }
    self->up = true;
    if (!self->rows)
        return DONE;
    char text[200];
    snprintf(text, sizeof text,
             "SET SESSION autocommit = 0, SESSION tx_isolation = 'READ-COMMITTED', SESSION "
             "idle_transaction_timeout = %ld",
             (self->ttl + 999) / 1000);
    return say(self, text);
}

void *peer_open(const char *servers, long ttl, const char *way) {
    struct client *self = calloc(1, sizeof *self);
    sscanf(servers, "%63[^:]:%u", self->host, &self->port);
    self->ttl = ttl;
    self->rows = strcmp(way, "row") == 0;
    long long end = deadline(10000);
    while (call(self) != DONE) {
        if (now_ms() > end)
            return free(self), NULL;
        sleep_ms(50);
    }
    return self;
}

void peer_close(void *client) {
    hang_up(client);
    free(client);
}

void *peer_lock(void *client, const char *name) {
    struct lock *self = calloc(1, sizeof *self);
    self->client = client;
    snprintf(self->name, sizeof self->name, "%s", name);
    unique(self->owner, sizeof self->owner);
    return self;
}

/* Whether a question has an answer: 1, 0, -1 if the link is broken. */
static int finds(struct client *self, const char *text) {
    if (!self->up || mysql_query(&self->link, text) != 0) {
        complain(self);
        return -1;
    }
    MYSQL_RES *result = mysql_store_result(&self->link);
    int there = result && mysql_num_rows(result) > 0;
    if (result)
        mysql_free_result(result);
    return there;
}

/* The row to be locked has to be there. To insert it once more would wait for who has locked it. */
static enum outcome make_row(struct lock *self) {
    char text[300];
    if (self->made)
        return DONE;
    snprintf(text, sizeof text, "SELECT name FROM rows_to_lock WHERE name = '%s'", self->name);
    int there = finds(self->client, text);
    if (there < 0)
        return FAILED;
    snprintf(text, sizeof text, "INSERT IGNORE INTO rows_to_lock VALUES ('%s')", self->name);
    if (!there && say(self->client, text) != DONE)
        return FAILED;
    if (say(self->client, "COMMIT") != DONE)
        return FAILED;
    self->made = true;
    return DONE;
}

/* The server waits, in whole seconds. */
static enum outcome acquire_row(struct lock *self, long timeout) {
    char text[300], patience[40] = "";
    if (timeout == 0) {
        snprintf(patience, sizeof patience, "NOWAIT");
    } else if (timeout > 0) {
        snprintf(patience, sizeof patience, "WAIT %ld", (timeout + 999) / 1000);
    }
    if (call(self->client) != DONE || make_row(self) != DONE)
        return FAILED;
    snprintf(text, sizeof text, "SELECT name FROM rows_to_lock WHERE name = '%s' FOR UPDATE %s",
             self->name, patience);
    if (say(self->client, text) == DONE) {
        self->thread = mysql_thread_id(&self->client->link);
        self->held = true;
        return DONE;
    }
    bool late = self->client->up && mysql_errno(&self->client->link) == ER_LOCK_WAIT_TIMEOUT;
    if (self->client->up)
        say(self->client, "ROLLBACK");
    return late ? LATE : FAILED;
}

static enum outcome insert(struct lock *self) {
    char text[400];
    snprintf(text, sizeof text,
             "INSERT INTO locks (name, owner, expires) VALUES ('%s', '%s', NOW(3) + INTERVAL %ld "
             "MICROSECOND)",
             self->name, self->owner, self->client->ttl * 1000);
    return say(self->client, text);
}

static enum outcome sweep(struct lock *self) {
    char text[300];
    snprintf(text, sizeof text, "DELETE FROM locks WHERE name = '%s' AND expires < NOW(3)",
             self->name);
    return say(self->client, text);
}

/* The key's number is a token that grows. */
static enum outcome acquire_key(struct lock *self, long timeout, long long *token) {
    long long end = deadline(timeout);
    while (true) {
        if (call(self->client) != DONE)
            return FAILED;
        if (insert(self) == DONE) {
            self->id = *token = (long long)mysql_insert_id(&self->client->link);
            return DONE;
        }
        unsigned error = self->client->up ? mysql_errno(&self->client->link) : 0;
        if (error != ER_DUP_ENTRY && error != ER_LOCK_DEADLOCK)
            return FAILED;
        if (sweep(self) != DONE && !self->client->up)
            return FAILED;
        if (now_ms() >= end)
            return LATE;
        pause_until(end);
    }
}

enum outcome peer_acquire(void *lock, long timeout, long long *token) {
    struct lock *self = lock;
    return self->client->rows ? acquire_row(self, timeout) : acquire_key(self, timeout, token);
}

enum outcome peer_release(void *lock) {
    struct lock *self = lock;
    if (self->client->rows) {
        self->held = false;
        return say(self->client, "COMMIT");
    }
    char text[300];
    snprintf(text, sizeof text, "DELETE FROM locks WHERE name = '%s' AND id = %lld", self->name,
             self->id);
    if (call(self->client) != DONE || say(self->client, text) != DONE)
        return FAILED;
    return mysql_affected_rows(&self->client->link) == 1 ? DONE : fail("it was gone");
}

/* The transaction lives as long as its link; of a key one asks. */
int peer_held(void *lock) {
    struct lock *self = lock;
    if (self->client->rows) {
        return self->held && self->client->up && mysql_ping(&self->client->link) == 0 &&
               mysql_thread_id(&self->client->link) == self->thread;
    }
    char text[300];
    snprintf(text, sizeof text, "SELECT 1 FROM locks WHERE id = %lld AND expires > NOW(3)",
             self->id);
    int there = finds(self->client, text);
    if (there < 0 && call(self->client) == DONE)
        there = finds(self->client, text);
    return there > 0;
}
