/* SPDX-License-Identifier: MIT */
#include "nodes/content.h"

#include "zklock.h"

#include <stdlib.h>
#include <string.h>

static bool copy_data(zkl_content *content, const zkl_reply *reply) {
    content->data = malloc(reply->length + 1);
    if (!content->data)
        return false;
    memcpy(content->data, reply->data, reply->length);
    content->data[reply->length] = '\0';
    content->length = reply->length;
    return true;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool copy_names(zkl_content *content, const zkl_reply *reply) {
    content->names = calloc(reply->count ? reply->count : 1, sizeof *content->names);
    if (!content->names)
        return false;
    for (; content->count < reply->count; content->count++)
        if (!(content->names[content->count] = strdup(reply->names[content->count])))
            return false;
    qsort(content->names, content->count, sizeof *content->names, compare);
    return true;
}

bool zkl_content_copy(zkl_content *content, const zkl_reply *reply) {
    *content = (zkl_content){.size = sizeof *content};
    if (reply->stat)
        content->stat = *reply->stat;
    content->exposed = reply->exposed;
    if ((!reply->data || copy_data(content, reply)) &&
        (!reply->names || copy_names(content, reply)))
        return true;
    zkl_content_clear(content);
    return false;
}

void zkl_content_free(zkl_content *content) {
    if (!content)
        return;
    zkl_content_clear(content);
    free(content);
}

void zkl_content_clear(zkl_content *content) {
    for (size_t i = 0; i < content->count; i++)
        free(content->names[i]);
    free(content->names);
    free(content->data);
    *content = (zkl_content){.size = sizeof *content};
}
