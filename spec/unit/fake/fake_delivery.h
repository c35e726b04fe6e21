/* SPDX-License-Identifier: MIT */
/* fake_delivery: what comes back from the servers, told to the client's engine. */
#ifndef FAKE_DELIVERY_H
#define FAKE_DELIVERY_H

#include "fake_item.h"

/* A reply. */
void fake_hand_over(fake_client *client, const fake_item *item);
/* The link is good: requests are made again. */
void fake_resume(fake_client *client);

#endif
