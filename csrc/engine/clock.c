#include "clock.h"

#include <time.h>

static zkl_nanos boot_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (zkl_nanos)t.tv_sec * ZKL_SECOND + t.tv_nsec;
}

const zkl_clock zkl_clock_boot = {boot_now};

zkl_nanos zkl_clock_after(zkl_nanos now, double seconds) {
    const double century = 3.2e9; /* int64 nanoseconds hold 292 years */
    if (seconds >= century)
        return ZKL_NEVER;
    return now + (zkl_nanos)(seconds * 1e9);
}

double zkl_clock_seconds(zkl_nanos duration) {
    return (double)duration / 1e9;
}
