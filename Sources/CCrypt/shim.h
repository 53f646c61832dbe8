#pragma once

#include <crypt.h>
#include <stddef.h>

// Overwrites a secret so that the compiler cannot drop the write.
static inline void countersign_wipe(void *bytes, size_t count) {
    volatile unsigned char *byte = bytes;
    while (count--) *byte++ = 0;
}
