/* library: what the world asks of the fake libzookeeper; what clients ask of it is zookeeper.h. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "machine.h"

/* Closing a handle is in vain once in so many times: the servers do not hear of it; 0: never. */
extern unsigned sim_rude_closings;
/* Handles that are not closed. */
size_t sim_handles(void);
/* Watches that the machine's handles have. */
size_t sim_listeners(const sim_machine *machine);

#endif
