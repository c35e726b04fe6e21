/* SPDX-License-Identifier: MIT */
/* request: what an answer is about: a mark in zkl_return.what. The answer about a contender's own
 * node goes to the contender, any other answer to the line. */
#ifndef ZKL_REQUEST_H
#define ZKL_REQUEST_H

/* To a contender. */
typedef enum zkl_own_request {
    ZKL_REQUEST_CREATE,
    ZKL_REQUEST_ERASE,
    ZKL_REQUEST_WATCH_OWN,
    ZKL_REQUEST_READ_OWN,
    ZKL_REQUEST_CANDIDATE /* detail: the candidate's sequence */
} zkl_own_request;

/* To a line. */
typedef enum zkl_line_request {
    ZKL_REQUEST_LIST, /* detail: 1: with a watch on the directory */
    ZKL_REQUEST_ACL,
    ZKL_REQUEST_BARRIER, /* a write: only its commit matters */
    /* These two: the child's sequence. Strangers may create equal sequences, so the mark also
     * contains child->request times ZKL_REQUESTS. */
    ZKL_REQUEST_WATCH_BLOCKER,
    ZKL_REQUEST_UNWATCH,
    ZKL_REQUEST_UNWATCH_DIRECTORY,
    ZKL_REQUEST_ERASE_STRAY
} zkl_line_request;

enum {
    ZKL_REQUESTS = 16,              /* more than there are kinds */
    ZKL_REQUEST_NUMBERS = (1 << 26) /* as many numbers as a mark has room for */
};

#endif
