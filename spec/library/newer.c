/* SPDX-License-Identifier: MIT */
/* A program that calls a function which only a later version has. */
#include <zklock.h>

int main(void) {
    return zkl_newer() - 1;
}
