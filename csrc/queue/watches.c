#include "queue/watches.h"

#include "port/wire.h"

static size_t share(const zkl_watches *watches, zkl_claim claim) {
    switch (claim) {
    case ZKL_CLAIM_SECOND:
        return watches->most / 4;
    case ZKL_CLAIM_OWN:
        return watches->most / 2;
    case ZKL_CLAIM_OTHERS:
        return watches->most - watches->most / 16;
    case ZKL_CLAIM_TURN:
        break;
    }
    return watches->most;
}

bool zkl_watches_room(const zkl_watches *watches, size_t length, zkl_claim claim) {
    return watches->bytes + zkl_wire_text(length) <= share(watches, claim);
}

size_t zkl_watches_size(size_t length) {
    return zkl_wire_text(length);
}

void zkl_watches_add(zkl_watches *watches, size_t length) {
    watches->bytes += zkl_wire_text(length);
}

void zkl_watches_remove(zkl_watches *watches, size_t length) {
    watches->bytes -= zkl_wire_text(length);
}

void zkl_watches_leave(zkl_watches *watches, size_t length) {
    watches->left += zkl_wire_text(length);
    zkl_watches_add(watches, length);
}

void zkl_watches_told(zkl_watches *watches, size_t length) {
    if (watches->left < zkl_wire_text(length))
        return;
    watches->left -= zkl_wire_text(length);
    zkl_watches_remove(watches, length);
}

void zkl_watches_lost(zkl_watches *watches) {
    watches->bytes -= watches->left;
    watches->left = 0;
}
