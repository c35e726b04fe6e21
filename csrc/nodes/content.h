/* SPDX-License-Identifier: MIT */
/* content: an answer about a node, copied for the host. */
#ifndef ZKL_CONTENT_H
#define ZKL_CONTENT_H

#include "port/port.h"

/* false: no memory, and the content stays empty. */
bool zkl_content_copy(zkl_content *content, const zkl_reply *reply);
/* Frees its parts. */
void zkl_content_clear(zkl_content *content);

#endif
