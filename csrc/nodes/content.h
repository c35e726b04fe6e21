/* content: what the servers told of a node, copied for the host. */
#ifndef ZKL_CONTENT_H
#define ZKL_CONTENT_H

#include "port/port.h"

/* false: no memory, and nothing is kept. */
bool zkl_content_copy(zkl_content *content, const zkl_reply *reply);
/* Frees what is in it. */
void zkl_content_clear(zkl_content *content);

#endif
