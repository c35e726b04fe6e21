/* subject: whom an answer of the servers is for. Requests carry a subject's number, never its address: what is freed,
 * or has moved on to a new number, is not found any more, and a late answer changes nothing. */
#ifndef ZKL_SUBJECT_H
#define ZKL_SUBJECT_H

#include "port/port.h"

typedef struct zkl_subject zkl_subject;

struct zkl_subject {
    uint64_t id; /* 0: not entered */
    zkl_subject *next;
    void (*answer)(zkl_subject *subject, const zkl_return *asked, const zkl_reply *reply);
};

typedef struct zkl_subjects {
    zkl_subject **buckets;
    size_t size, count; /* size is a power of two */
    uint64_t last;
} zkl_subjects;

bool zkl_subjects_init(zkl_subjects *subjects);
void zkl_subjects_destroy(zkl_subjects *subjects);

/* Gives the subject a number that nobody can guess, of as many bits as a GUID has for it, and that comes again once in as
 * many; a former one is forgotten. Cannot fail. */
void zkl_subject_enter(zkl_subjects *subjects, zkl_subject *subject);
void zkl_subject_leave(zkl_subjects *subjects, zkl_subject *subject);
zkl_subject *zkl_subject_find(const zkl_subjects *subjects, uint64_t id);

#endif
