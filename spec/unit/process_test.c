/* SPDX-License-Identifier: MIT */
/* Children of every kind: which of them are noticed, and what they find. */
#include "base/process.h"
#include "check.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern pid_t _Fork(void) __attribute__((weak)); /* glibc has it since 2.34 */

static struct {
    pthread_mutex_t mutex;
    int number;
} * shared;

__attribute__((constructor)) static void prepare(void) {
    shared = zkl_process_memory(sizeof *shared);
}

static pid_t clone_process(void) {
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* In the child: 0 if it noticed that it is one. */
static int look(unsigned parents) {
    const unsigned own = zkl_process_generation();
    if (own == parents || zkl_process_generation() != own)
        return 1;
    return shared->number != 0 || pthread_mutex_trylock(&shared->mutex) != 0 ? 2 : 0;
}

static int end_of(pid_t child) {
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The answer of the child of that call, and of a child of the child. */
static int look_in_child(pid_t (*make)(void)) {
    const unsigned own = zkl_process_generation();
    shared->number = 7;
    pthread_mutex_lock(&shared->mutex);
    pid_t child = make();
    if (child == 0) {
        const unsigned parents = zkl_process_generation();
        const int first = look(own);
        child = first ? -1 : make();
        if (child == 0)
            _exit(zkl_process_generation() == own ? 3 : look(parents));
        _exit(first ? first : end_of(child));
    }
    const int answer = end_of(child);
    pthread_mutex_unlock(&shared->mutex);
    CHECK_INT(zkl_process_generation(), own);
    CHECK_INT(shared->number, 7);
    return answer;
}

static void a_child_of_fork_is_noticed(void) {
    CHECK_INT(look_in_child(fork), 0);
}

static void a_child_of_a_bare_fork_is_noticed(void) {
    if (_Fork)
        CHECK_INT(look_in_child(_Fork), 0);
}

static void a_child_of_clone_is_noticed(void) {
    CHECK_INT(look_in_child(clone_process), 0);
}

static int look_as_vfork(void *parents) {
    return shared->number == 8 && zkl_process_generation() == *(const unsigned *)parents ? 0 : 1;
}

static void a_child_that_shares_the_memory_is_no_fork(void) {
    static char stack[65536] __attribute__((aligned(16)));
    unsigned own = zkl_process_generation();
    shared->number = 8;
    CHECK_INT(
        end_of(clone(look_as_vfork, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &own)),
        0);
    CHECK_INT(zkl_process_generation(), own);
}

/* From now on this process and the programs that it becomes have a kernel without MADV_WIPEONFORK;
 * or one that ignores advice, as a qemu does. */
static bool forget_advice(unsigned answer) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)-1, answer ? 1 : 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof steps / sizeof *steps, .filter = steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

enum { CANNOT = 77 };

static void on_a_kernel_without_advice(unsigned answer) {
    const pid_t child = fork();
    if (child == 0) {
        if (forget_advice(answer))
            execl("/proc/self/exe", "process_test", "without", (char *)NULL);
        _exit(CANNOT);
    }
    const int end = end_of(child);
    CHECK(end == 0 || end == CANNOT);
}

static void without_advice_a_child_of_fork_is_noticed(void) {
    on_a_kernel_without_advice(EINVAL);
    on_a_kernel_without_advice(0);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "without") == 0)
        return look_in_child(fork);
    static const check_case cases[] = {
        {"a child of fork is noticed", a_child_of_fork_is_noticed},
        {"a child of _Fork is noticed", a_child_of_a_bare_fork_is_noticed},
        {"a child of a bare clone is noticed", a_child_of_clone_is_noticed},
        {"a child that shares the memory is no fork", a_child_that_shares_the_memory_is_no_fork},
        {"a kernel without advice: a child of fork is noticed",
         without_advice_a_child_of_fork_is_noticed},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
