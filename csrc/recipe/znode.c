/* SPDX-License-Identifier: MIT */
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    size_t length;
    zkl_kind kind;
} markers[] = {
    {"lock-", sizeof "lock-" - 1, ZKL_KIND_LOCK},
    {"__lock__", sizeof "__lock__" - 1, ZKL_KIND_LOCK},
    {"__READ__", sizeof "__READ__" - 1, ZKL_KIND_READ},
    {"__WRIT__", sizeof "__WRIT__" - 1, ZKL_KIND_WRITE},
    {"lease-", sizeof "lease-" - 1, ZKL_KIND_LEASE},
};

/* The prefixes of our own nodes. */
static const char *const own_markers[] = {
    [ZKL_KIND_NONE] = "",           [ZKL_KIND_LOCK] = "-lock-",   [ZKL_KIND_READ] = "-__READ__",
    [ZKL_KIND_WRITE] = "-__WRIT__", [ZKL_KIND_LEASE] = "-lease-",
};
_Static_assert(sizeof own_markers / sizeof *own_markers == ZKL_KINDS, "each kind has a marker");

/* The last digits of the value, behind a text. Returns the end. */
static char *write_hex(char *at, const char *before, uint64_t value, size_t digits) {
    at = stpcpy(at, before);
    for (size_t i = digits; i-- > 0; value >>= 4)
        at[i] = "0123456789abcdef"[value & 0xf];
    return at + digits;
}

/* Not with printf, which would take a tenth of the engine's instructions of a whole acquire. */
size_t zkl_znode_make_prefix(char prefix[ZKL_ZNODE_SIZE], uint64_t client) {
    char *at = write_hex(prefix, "_c_", client >> 28, 8);
    at = write_hex(at, "-", client >> 12, 4);
    at = write_hex(at, "-4", client, 3);
    return (size_t)(stpcpy(at, "-8") - prefix);
}

static void write_name(char name[ZKL_ZNODE_SIZE], zkl_guid guid, const char *end) {
    char *at = name + zkl_znode_make_prefix(name, guid.client);
    at = write_hex(at, "", guid.number >> 48, 3);
    at = write_hex(at, "-", guid.number, 12);
    stpcpy(at, end);
}

void zkl_znode_make(char name[ZKL_ZNODE_SIZE], zkl_guid guid, zkl_kind kind) {
    write_name(name, guid, own_markers[kind]);
}

size_t zkl_znode_length(zkl_kind kind) {
    return sizeof "_c_01234567-0123-4567-8123-0123456789ab" - 1 + strlen(own_markers[kind]) +
           sizeof "0123456789" - 1;
}

void zkl_znode_make_mark(char name[ZKL_ZNODE_SIZE], zkl_guid guid) {
    write_name(name, guid, "-mark");
}

void zkl_znode_append(char name[ZKL_ZNODE_SIZE], int32_t sequence) {
    uint32_t value = sequence < 0 ? 0U - (uint32_t)sequence : (uint32_t)sequence;
    char *at = name + strlen(name);
    if (sequence < 0)
        *at++ = '-';
    const size_t digits = sequence < 0 && value < 1000000000 ? 9 : 10;
    for (size_t i = digits; i-- > 0; value /= 10)
        at[i] = (char)('0' + value % 10);
    at[digits] = '\0';
}

char *zkl_znode_path(const char *directory, const char *name) {
    char *path = malloc(strlen(directory) + 1 + strlen(name) + 1);
    if (path)
        stpcpy(stpcpy(stpcpy(path, directory), "/"), name);
    return path;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static zkl_kind marker_at_end(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        const size_t n = markers[i].length;
        if (length >= n && memcmp(text + length - n, markers[i].text, n) == 0)
            return markers[i].kind;
    }
    return ZKL_KIND_NONE;
}

/* The value of so many digits; -1: something else is among them. */
static int64_t value_of(const char *text, size_t digits) {
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        const unsigned digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit > 9)
            return -1;
        value = value * 10 + digit;
    }
    return value;
}

enum { DIGITS_LEAST = 9, DIGITS_MOST = 10 };

/* The servers print the sequence with "%010d": ten digits, or after the counter's overflow a minus
 * and at least nine digits. */
zkl_kind zkl_znode_kind(const char *name, size_t length, int32_t *sequence) {
    if (length <= DIGITS_MOST)
        return ZKL_KIND_NONE;
    const bool ten = is_digit(name[length - DIGITS_MOST]);
    const size_t digits = ten ? DIGITS_MOST : DIGITS_LEAST, head = length - digits;
    const int64_t value = value_of(name + head, digits);
    if (value < 0)
        return ZKL_KIND_NONE;
    const zkl_kind kind = ten && value <= INT32_MAX ? marker_at_end(name, head) : ZKL_KIND_NONE;
    if (kind) {
        *sequence = (int32_t)value;
        return kind;
    }
    const bool padded = ten && value < INT64_C(1000000000);
    if (name[head - 1] != '-' || value == 0 || padded || -value < INT32_MIN)
        return ZKL_KIND_NONE;
    *sequence = (int32_t)-value;
    return marker_at_end(name, head - 1);
}

zkl_kind zkl_znode_parse(const char *name, int32_t *sequence) {
    return zkl_znode_kind(name, strlen(name), sequence);
}

static bool read_hex(const char **text, int digits, uint64_t *value) {
    for (int i = 0; i < digits; i++, (*text)++) {
        const char c = **text;
        if (is_digit(c))
            *value = *value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    return true;
}

static bool skip(const char **text, const char *expected) {
    const size_t n = strlen(expected);
    if (strncmp(*text, expected, n) != 0)
        return false;
    *text += n;
    return true;
}

bool zkl_znode_number(const char *behind, uint64_t *number) {
    *number = 0;
    return read_hex(&behind, 3, number) && skip(&behind, "-") && read_hex(&behind, 12, number) &&
           skip(&behind, "-");
}

bool zkl_znode_guid(const char *name, zkl_guid *guid) {
    guid->client = guid->number = 0;
    return skip(&name, "_c_") && read_hex(&name, 8, &guid->client) && skip(&name, "-") &&
           read_hex(&name, 4, &guid->client) && skip(&name, "-4") &&
           read_hex(&name, 3, &guid->client) && skip(&name, "-8") &&
           zkl_znode_number(name, &guid->number);
}
