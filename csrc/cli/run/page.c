/* SPDX-License-Identifier: MIT */
#include "cli/run/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sysexits.h>

/* Between two rounds of killing. A round takes a twentieth of a second on a machine at rest. */
#define KILLING_MOST ZKL_SECOND

struct page *cli_page_new(size_t room) {
    const size_t size = sizeof(struct page) + room;
    struct page *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    page->size = size;
    page->room = room;
    return page;
}

void cli_page_free(struct page *page) {
    munmap(page, page->size);
}

void cli_page_advance(struct page *page, enum page_phase phase) {
    if (phase == PAGE_EMPTY && atomic_load(&page->phase) < PAGE_EMPTY)
        atomic_store(&page->emptied, zkl_now());
    int now = atomic_load(&page->phase);
    while (now < (int)phase && !atomic_compare_exchange_weak(&page->phase, &now, (int)phase))
        continue;
}

void cli_page_blame(struct page *page, enum page_reason reason) {
    int none = PAGE_NO_REASON;
    atomic_compare_exchange_strong(&page->reason, &none, (int)reason);
}

void cli_page_condemn(struct page *page, enum page_reason reason) {
    cli_page_blame(page, reason);
    atomic_store(&page->ended, true);
}

void cli_page_reaped(struct page *page, pid_t child, int status) {
    if (child != atomic_load(&page->command) || atomic_load(&page->phase) >= PAGE_REAPED)
        return; /* another one, or one that has got the command's number after it */
    atomic_store(&page->status, status);
    cli_page_advance(page, PAGE_REAPED);
}

bool cli_page_occupied(const struct page *page) {
    const int phase = atomic_load(&page->phase);
    return phase > PAGE_QUEUED && phase < PAGE_EMPTY;
}

/* ---- how it ends ---- */

static void set_outcome(struct page *page, enum page_outcome outcome, int value,
                        const char *label) {
    page->value = value;
    page->label = label;
    atomic_store(&page->outcome, outcome);
}

void cli_page_end(struct page *page, int code, const char *label, const char *reason, ...) {
    va_list words;
    va_start(words, reason);
    vsnprintf(page->text, sizeof page->text, reason ? reason : "", words);
    va_end(words);
    set_outcome(page, PAGE_EXIT, code, label);
}

void cli_page_end_signal(struct page *page, int signal, const char *label) {
    page->text[0] = '\0';
    set_outcome(page, PAGE_SIGNAL, signal, label);
}

bool cli_page_is_cut_short(const struct page *page) {
    return atomic_load(&page->reason) != PAGE_NO_REASON ||
           atomic_load(&page->until) < atomic_load(&page->emptied);
}

bool cli_page_has_succeeded(const struct page *page) {
    return !atomic_load(&page->failed) && !cli_page_is_cut_short(page) &&
           atomic_load(&page->status) == 0;
}

static void end_early(struct page *page, const char *shown) {
    static const char *const whose[] = {[PAGE_SESSION] = "session process of zklock was killed",
                                        [PAGE_WATCHER] =
                                            "watcher process of zklock was killed or stopped"};
    const int reason = atomic_load(&page->reason);
    if (reason == PAGE_REVOKED)
        cli_page_end(page, EX_TEMPFAIL, "revoked", "revoked: %s", shown);
    else if (reason == PAGE_SESSION || reason == PAGE_WATCHER)
        cli_page_end(page, EX_TEMPFAIL, "lost", "the %s: %s", whose[reason], shown);
    else
        cli_page_end(page, EX_TEMPFAIL, "lost", "lost: %s", shown);
}

void cli_page_end_command(struct page *page, const char *shown) {
    const int failed = atomic_load(&page->failed), status = atomic_load(&page->status);
    if (failed)
        cli_page_end(page, EX_SOFTWARE, "error", "cannot fork: %s", strerror(failed));
    else if (cli_page_is_cut_short(page))
        end_early(page, shown);
    else if (WIFSIGNALED(status))
        cli_page_end_signal(page, WTERMSIG(status), "failed");
    else
        cli_page_end(page, WEXITSTATUS(status), status ? "failed" : "ok", NULL);
}

/* ---- who kills ---- */

zkl_nanos cli_page_killed_until(const struct page *page) {
    const zkl_nanos killing = atomic_load(&page->killing);
    return killing ? killing + KILLING_MOST : 0;
}

zkl_nanos cli_page_kill_at(const struct page *page, int nth) {
    const zkl_nanos lead = atomic_load(&page->lead);
    return atomic_load(&page->until) - lead + nth * lead / 4;
}
