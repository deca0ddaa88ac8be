/* The task tree: what the recorded forms of join, scope and spawn call. Every function but
 * befit_record_region is called, and returns, with recording paused. */
#include <alloca.h>

#include "address.h"
#include "hot.h"
#include "stream.h"

#define PAGE 4096

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

void befit_record_fork(uint32_t scope, uint64_t size, uint64_t strand) {
    if (state != RECORDED)
        return;
    end_strand();
    befit_put_event(FORK, scope);
    befit_put(size);
    befit_put(strand);
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
                                               void (*body)(void *), void *data) {
    state = RECORDED;
    befit_filter_reset();
    uint32_t scope = befit_record_scope();
    befit_record_fork(scope, size, strand);
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

void befit_record_region(uint64_t size, uint64_t strand, void (*body)(void *), void *data) {
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
    recorded(size, strand, body, data);
    __asm__ volatile("" : : "r"(padding) : "memory");
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
