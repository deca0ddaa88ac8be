/* Spots by return address, and blocks until the reader can be told of them. */
#define _GNU_SOURCE
#include "spots.h"

#include <sys/mman.h>

#include "callers.h"
#include "hot.h"
#include "lock.h"
#include "stream.h"

#define SPOTS 8192 /* spots that the reader is known to have, by place in a table */
#define PROBES 8   /* places in it that a spot may have */
#define BLOCKS 4096
/* Frames of a block's caller that are kept: those of the allocator's interface, and some of the
 * program's. */
#define FRAMES 48

/* The number of the spot that its callers tell. */
static void put_spot(uint64_t number, const uintptr_t *callers, size_t count) {
    befit_put_event(SPOT, number | count << SPOT_CALLERS_SHIFT);
    for (size_t i = 0; i < count; i++)
        befit_put(callers[i]);
}

static __attribute__((noinline)) void find_spot(uint64_t number) {
    static uintptr_t callers[CALLERS_MOST];
    /* What the walk touches is not the program's. */
    int active = befit_hot.active;
    befit_hot.active = 0;
    size_t count = befit_callers(callers);
    befit_hot.active = active;
    put_spot(number, callers, count);
}

uint64_t befit_spot(uintptr_t from) {
    static uintptr_t known[SPOTS];
    size_t home = (from * 0x9e3779b97f4a7c15u) >> (64 - 13), at = home;
    for (unsigned i = 0; i < PROBES; i++, at = (at + 1) % SPOTS) {
        if (LIKELY(known[at] == from))
            return at + 1;
        if (known[at] == 0) {
            home = at;
            break;
        }
    }
    known[home] = from;
    find_spot(home + 1);
    return home + 1;
}

struct block {
    uintptr_t normal;
    size_t bytes, count;
    uintptr_t callers[FRAMES];
};

static struct block *blocks; /* null before the first */
static size_t taken, told;
static __thread int inside;  /* the walk may take memory itself */

void befit_block(uintptr_t normal, size_t bytes) {
    if (inside || __atomic_load_n(&taken, __ATOMIC_RELAXED) == BLOCKS)
        return;
    inside = 1;
    int active = befit_hot.active;
    befit_hot.active = 0;
    uintptr_t callers[CALLERS_MOST];
    size_t count = befit_callers(callers);
    if (count > FRAMES)
        count = FRAMES;
    befit_take_lock(&befit_blocks_lock);
    if (blocks == NULL) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *table = mmap(NULL, BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE, flags, -1, 0);
        blocks = table == MAP_FAILED ? NULL : table;
    }
    if (blocks != NULL && taken < BLOCKS) {
        struct block *block = &blocks[taken];
        block->normal = normal;
        block->bytes = bytes;
        block->count = count;
        for (size_t i = 0; i < count; i++)
            block->callers[i] = callers[i];
        __atomic_store_n(&taken, taken + 1, __ATOMIC_RELAXED);
    }
    befit_give_lock(&befit_blocks_lock);
    befit_hot.active = active;
    inside = 0;
}

void befit_put_blocks(void) {
    befit_take_lock(&befit_blocks_lock);
    for (; told < taken; told++) {
        const struct block *block = &blocks[told];
        /* A spot of its own: no touch has number 0. */
        put_spot(0, block->callers, block->count);
        befit_put_event(BLOCK, 0);
        befit_put(block->normal >> LINE_BITS);
        befit_put((block->normal + block->bytes - 1) / LINE - block->normal / LINE + 1);
    }
    befit_give_lock(&befit_blocks_lock);
}
