/* SPDX-License-Identifier: MIT */
/* A host of event loops: a program that is linked with a function of zklock_host.h. */
#include <zklock_host.h>

int main(void) {
    void (*volatile wake)(zkl_client *) = zkl_wake;
    return wake ? 0 : 1;
}
