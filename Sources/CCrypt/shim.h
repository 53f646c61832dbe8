#pragma once

#include <crypt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Overwrites a secret so that the compiler cannot drop the write.
static inline void countersign_wipe(void *bytes, size_t count) {
    volatile unsigned char *byte = bytes;
    while (count--) *byte++ = 0;
}

// Whether so much memory can be had now. The compiler would leave out an allocation that nothing uses.
static inline int countersign_can_allocate(size_t count) {
    void *volatile memory = malloc(count);
    int is_there = memory != NULL;
    free(memory);
    return is_there;
}

// `argon2_context` of libargon2, whose header is in a package that need not be installed.
typedef struct {
    void *out;
    uint32_t outlen;
    const void *pwd;
    uint32_t pwdlen;
    const void *salt;
    uint32_t saltlen;
    const void *secret;
    uint32_t secretlen;
    const void *ad;
    uint32_t adlen;
    uint32_t t_cost;
    uint32_t m_cost;
    uint32_t lanes;
    uint32_t threads;
    uint32_t version;
    int (*allocate_cbk)(uint8_t **memory, size_t count);
    void (*free_cbk)(uint8_t *memory, size_t count);
    uint32_t flags;
} countersign_argon2_context;
