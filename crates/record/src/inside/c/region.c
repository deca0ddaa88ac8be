/* The task tree: what the recorded forms of join, scope and spawn call. Every function but
 * befit_record_region is called, and returns, with recording paused. */
#include <alloca.h>

#include "address.h"
#include "hot.h"
#include "stream.h"

#define PAGE 4096
#define NAME_MOST 1024  /* bytes of a place's name that are sent */
#define HASH_DIGITS 16
#define NAMES 1024      /* names that the reader is known to have, by place in a table */

static int busy;                 /* some thread is in a region */
static __thread enum { OUTSIDE, RECORDED, UNRECORDED } state; /* of this thread */
static uint32_t scopes;          /* given out so far; scope 0 is that of detached tasks */
static unsigned skipped;         /* regions not recorded since the last one that was */

int befit_record_in_region(void) {
    return state != OUTSIDE;
}

/* Returns whether it was not paused already. */
int befit_record_pause(void) {
    struct hot *hot = &befit_hot;
    if (!hot->active)
        return 0;
    hot->active = 0;
    hot->saved_loads = hot->loads;
    hot->saved_stores = hot->stores;
    hot->saved_blocks = hot->blocks;
    return 1;
}

void befit_record_resume(void) {
    struct hot *hot = &befit_hot;
    if (state != RECORDED)
        return;
    hot->loads = hot->saved_loads;
    hot->stores = hot->saved_stores;
    hot->blocks = hot->saved_blocks;
    hot->active = 1;
}

/* Ends the current strand, if there is one, and with it what the filter knows: strands stand
 * alone. */
static void end_strand(void) {
    struct hot *hot = &befit_hot;
    if ((hot->saved_loads | hot->saved_stores | hot->saved_blocks) == 0)
        return;
    befit_put_event(WORK, 0);
    befit_put(hot->saved_loads);
    befit_put(hot->saved_stores);
    befit_put(hot->saved_blocks);
    hot->saved_loads = hot->saved_stores = hot->saved_blocks = 0;
    befit_filter_reset();
}

uint32_t befit_record_scope(void) {
    return state == RECORDED ? ++scopes : 0;
}

/* The name as it is sent; a longer one ends in its hash. */
static size_t short_name(char *to, const char *name, size_t length) {
    static const char digits[] = "0123456789abcdef";
    size_t kept = length <= NAME_MOST ? length : NAME_MOST - HASH_DIGITS;
    for (size_t i = 0; i < kept; i++)
        to[i] = name[i];
    if (kept == length)
        return length;
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    for (size_t i = 0; i < HASH_DIGITS; i++)
        to[kept + i] = digits[hash >> (60 - 4 * i) & 15];
    return NAME_MOST;
}

/* Sends a place's name, unless the reader has it. */
static void put_name(const char *place, size_t length) {
    static struct {
        const char *place;
        size_t length;
    } known[NAMES];
    uintptr_t at = ((uintptr_t)place * 0x9e3779b97f4a7c15u) >> 54;
    if (LIKELY(known[at].place == place && known[at].length == length))
        return;
    known[at].place = place;
    known[at].length = length;
    union {
        char bytes[NAME_MOST];
        uint64_t words[NAME_MOST / 8];
    } name = {.words = {0}};
    size_t bytes = short_name(name.bytes, place, length);
    befit_put_event(NAME, bytes);
    befit_put((uintptr_t)place);
    for (size_t i = 0; i < (bytes + 7) / 8; i++)
        befit_put(name.words[i]);
}

void befit_record_fork(uint32_t scope, uint64_t size, uint64_t strand, const char *place,
                       size_t length) {
    if (state != RECORDED)
        return;
    end_strand();
    put_name(place, length);
    befit_put_event(FORK, scope);
    befit_put(size);
    befit_put(strand);
    befit_put((uintptr_t)place);
}

void befit_record_end(void) {
    if (state != RECORDED)
        return;
    end_strand();
    befit_put_event(END, 0);
}

void befit_record_sync(uint32_t scope) {
    if (state != RECORDED)
        return;
    end_strand();
    befit_put_event(SYNC, scope);
}

/* Apart from befit_record_region so that the padding is on the stack while this runs, and its
 * frame is below it. */
static __attribute__((noinline)) void recorded(uint64_t size, uint64_t strand,
                                               const char *place, size_t length,
                                               void (*body)(void *), void *data) {
    state = RECORDED;
    befit_filter_reset();
    uint32_t scope = befit_record_scope();
    befit_record_fork(scope, size, strand, place, length);
    befit_record_resume();
    body(data);
    befit_record_pause();
    befit_record_end();
    befit_record_sync(scope);
    state = OUTSIDE;
    if (skipped != 0)
        befit_put_event(SKIPPED, __atomic_exchange_n(&skipped, 0, __ATOMIC_RELAXED));
    befit_flush();
}

static void unrecorded(void (*body)(void *), void *data) {
    state = UNRECORDED;
    body(data);
    state = OUTSIDE;
}

void befit_record_region(uint64_t size, uint64_t strand, const char *place, size_t length,
                         void (*body)(void *), void *data) {
    if (!befit_stream_open()) {
        unrecorded(body, data);
        return;
    }
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        /* two at once have no serial order; the reader is told */
        __atomic_add_fetch(&skipped, 1, __ATOMIC_RELAXED);
        unrecorded(body, data);
        return;
    }
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    /* How far the stack pointer is from a page's start depends on the environment's length; pad
     * so that it does not below here. */
    char *padding = alloca(frame % PAGE);
    __asm__ volatile("" : : "r"(padding) : "memory");
    befit_places_enter(frame, ((uintptr_t)padding + LINE - 1) / LINE * LINE);
    recorded(size, strand, place, length, body, data);
    __asm__ volatile("" : : "r"(padding) : "memory");
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
