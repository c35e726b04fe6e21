/* SPDX-License-Identifier: MIT */
#include "known.h"

#include <stddef.h>

const sim_known sim_known_histories[] = {
    {"counts the watches on nodes of its own that it forgets when it closes", 177,
     "0,2,4,6,7,8,9,10,13,14,15,16,17,20,23,24,25,26,27,28,29,30,31,32,33,35,36,37,38,39,40,48,49,"
     "50,51,59,60,61,63,75,78,79,94"},
    {"shows what became of a write that the script has interrupted", 205, "0,1,2,4,6,9"},
    {"enters a semaphore's leases only with the gate when an operator deletes nodes", 7731958061,
     "0,1,2,4,6,7,8,9,10,27,28,29,89,92,106,118"},
    {"grants no lease of a semaphore that leaves because its gate is gone", 990017002446,
     "146,147,152,242,243,256"},
    {"queues at the gate again before it creates leases", 7731939800, NULL},
    {"has two semaphores that both lost a gate wait for each other no longer", 990017007023, NULL},
    {"pauses between lists of who is in line while servers throttle", 20, "27,52"},
    {"waits with a multilock while servers throttle creates of directories", 49, "110,115"},
    {"waits with a lease while servers throttle creates of directories", 87, "181,189"},
    {"waits while servers throttle creates of directories that it looks for first", 77123490, NULL},
    {"comes back to servers that take fewer watches than it has", 1, NULL},
    {"counts a watch on its own node while a request for another one is cut off", 7731930062, NULL},
    {"counts both watches that a view of children may leave", 61, "96"},
    {"does not say that leases were held when their session had ended", 67, "406,427,456,459"},
    {"does not say that a multilock was held when its session had ended", 204,
     "12,13,14,15,18,20,24"},
    {"takes a node out of the others' way when answers never come in time", 357, "154"},
    {"takes a node out of the others' way with the third slow answer that a client gets", 551009816,
     NULL},
    {"says unknown of a mark that the next holder has written over", 70368744180355, NULL},
    {"may not know of a mark that was written over and then deleted by an operator", 70369568179813,
     NULL},
    {"lists at its close when the create that went before is withdrawn", 78300567, NULL},
    {"says of nothing that was given back that it holds", 9922202982,
     "0,1,3,4,5,6,8,9,10,13,14,15,17,19,21,22,24,26"},
    {"leaves a watch when servers have twice ended its session at the removal of one", 88123453,
     "0,1,2,4,5,8,9,10,11,12,13,15,16,18,19,20,21,22,23,24,25,27,28,29,33,34,35,36,37,38,42,43,44,"
     "62"},
    {"may read before a write of a former session of Keeper's", 35184408419272, NULL},
    {NULL, 0, NULL},
};
