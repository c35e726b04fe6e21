#include "port/receiver.h"

#include "base/entropy.h"
#include "recipe/znode.h"

#include <stdlib.h>

/* Numbers are random, so their low bits spread evenly by themselves. */
static zkl_subject **bucket(const zkl_subjects *subjects, uint64_t id) {
    return &subjects->buckets[id & (subjects->size - 1)];
}

bool zkl_subjects_init(zkl_subjects *subjects) {
    *subjects = (zkl_subjects){.size = 64};
    subjects->buckets = calloc(subjects->size, sizeof *subjects->buckets);
    return subjects->buckets != NULL;
}

void zkl_subjects_destroy(zkl_subjects *subjects) {
    free(subjects->buckets);
}

static void insert(zkl_subjects *subjects, zkl_subject *subject) {
    zkl_subject **b = bucket(subjects, subject->id);
    subject->next = *b;
    *b = subject;
}

/* Without memory the chains just get longer. */
static void grow(zkl_subjects *subjects) {
    zkl_subjects bigger = *subjects;
    bigger.size *= 2;
    bigger.buckets = calloc(bigger.size, sizeof *bigger.buckets);
    if (!bigger.buckets)
        return;
    for (size_t i = 0; i < subjects->size; i++) {
        zkl_subject *next;
        for (zkl_subject *s = subjects->buckets[i]; s; s = next) {
            next = s->next;
            insert(&bigger, s);
        }
    }
    free(subjects->buckets);
    *subjects = bigger;
}

/* They go out in the names of nodes: who can tell the next one can make a node that we would take for ours. */
static uint64_t draw(const zkl_subjects *subjects) {
    uint64_t number;
    do {
        if (!zkl_entropy(&number, sizeof number))
            number = subjects->last + 1;
        number &= ZKL_GUID_MASK;
    } while (number == 0 || zkl_subject_find(subjects, number));
    return number;
}

void zkl_subject_enter(zkl_subjects *subjects, zkl_subject *subject) {
    zkl_subject_leave(subjects, subject);
    if (subjects->count >= subjects->size)
        grow(subjects);
    subject->id = subjects->last = draw(subjects);
    insert(subjects, subject);
    subjects->count++;
}

void zkl_subject_leave(zkl_subjects *subjects, zkl_subject *subject) {
    if (!subject->id)
        return;
    zkl_subject **p = bucket(subjects, subject->id);
    while (*p != subject)
        p = &(*p)->next;
    *p = subject->next;
    subjects->count--;
    subject->id = 0;
}

zkl_subject *zkl_subject_find(const zkl_subjects *subjects, uint64_t id) {
    zkl_subject *s = *bucket(subjects, id);
    while (s && s->id != id)
        s = s->next;
    return s;
}
