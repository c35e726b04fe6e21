#include "stage.h"

#include "ensemble.h"
#include "library.h"
#include "machine.h"

#define LIMIT (20 * ZKL_SECOND)

enum { SESSIONS_MOST = 8 };

static sim_machine machines[SESSIONS_MOST];

void stage_begin(const char *hosts) {
    (void)hosts;
    sim_rude_closings = 0;
    sim_begin(1);
    sim_ensemble_begin(ZKL_SECOND);
    for (int i = 0; i < SESSIONS_MOST; i++)
        machines[i] = (sim_machine){.id = i};
}

void stage_end(void) {
    sim_run(sim_now + ZKL_SECOND);
    sim_ensemble_end();
    sim_end();
}

/* One of them, as the real one is alone. */
const char *stage_hosts(void) {
    return "10.0.0.1:2181";
}

void stage_as(int session) {
    sim_here = &machines[session];
}

void stage_lock(void) {
}

void stage_unlock(void) {
}

bool stage_wait(bool (*done)(void)) {
    const zkl_nanos until = sim_now + LIMIT;
    while (!done())
        if (!sim_step(until) && sim_now >= until)
            return done();
    return true;
}

void stage_cut(void) {
    sim_sockets_cut(-1, NULL, 1);
}
