/* The task tree: what the recorded forms of join, scope and spawn call. Every function but
 * befit_record_region is called, and returns, with recording paused. */
#include <alloca.h>
#include <stdlib.h>

#include "address.h"
#include "callers.h"
#include "hot.h"
#include "spots.h"
#include "stream.h"

#define PAGE 4096
#define NAME_MOST 1024  /* bytes of a place's name that are sent */
#define HASH_DIGITS 16
#define SITES 1024      /* sites that the reader is known to have, by place in a table */
#define PROBES 8        /* places in it that a site may have */

static __thread enum { OUTSIDE, RECORDED, UNRECORDED } state; /* of this thread */
static uint32_t scopes;          /* given out so far; scope 0 is that of detached tasks */
static __thread char self;       /* its place tells threads apart that live at the same time */
static const char *first;        /* the thread of the first recorded region */

uintptr_t befit_record_stack_base(void) {
    return state == RECORDED ? befit_places.stack.base : 0;
}

uintptr_t befit_record_stack_top(void) {
    return state == RECORDED ? befit_places.stack.base + befit_places.stack.size : 0;
}

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

/* The name as it is sent; a longer one ends in its hash, and its beginning with a whole
 * character. */
static size_t short_name(char *to, const char *name, size_t length) {
    static const char digits[] = "0123456789abcdef";
    size_t kept = length <= NAME_MOST ? length : NAME_MOST - HASH_DIGITS;
    while (kept < length && (name[kept] & 0xc0) == 0x80)
        kept--;
    for (size_t i = 0; i < kept; i++)
        to[i] = name[i];
    if (kept == length)
        return length;
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    for (size_t i = 0; i < HASH_DIGITS; i++)
        to[kept + i] = digits[hash >> (60 - 4 * i) & 15];
    return kept + HASH_DIGITS;
}

/* Tells the reader of a site, and from where its first task is forked. */
static __attribute__((noinline)) void put_site(size_t number, const struct task *task) {
    static uintptr_t callers[CALLERS_MOST];
    size_t count = befit_callers(callers);
    union {
        char bytes[NAME_MOST];
        uint64_t words[NAME_MOST / 8];
    } name = {.words = {0}};
    size_t length = short_name(name.bytes, task->place, task->length);
    befit_put_event(SITE, number | length << SITE_NAME_SHIFT | count << SITE_CALLERS_SHIFT);
    befit_put(task->bytes | (uint64_t)task->index << 32);
    for (size_t i = 0; i < (length + 7) / 8; i++)
        befit_put(name.words[i]);
    for (size_t i = 0; i < count; i++)
        befit_put(callers[i]);
}

/* The number of a task's site, which the reader has been told of. */
static uint64_t site_of(const struct task *task) {
    static struct site {
        const char *place; /* null where there is none yet */
        size_t length;
        uint32_t bytes, index;
    } known[SITES];
    uintptr_t key = (uintptr_t)task->place + task->bytes + ((uintptr_t)task->index << 32);
    size_t home = (key * 0x9e3779b97f4a7c15u) >> 54, at = home;
    for (unsigned i = 0; i < PROBES; i++, at = (at + 1) % SITES) {
        const struct site *site = &known[at];
        if (LIKELY(site->place == task->place && site->length == task->length &&
                   site->bytes == task->bytes && site->index == task->index))
            return at;
        if (site->place == NULL) {
            home = at;
            break;
        }
    }
    known[home] = (struct site){task->place, task->length, task->bytes, task->index};
    put_site(home, task);
    return home;
}

/* What the next task to fork has captured. One thread is recorded at a time. */
static uint64_t captured[CAPTURED];
static uint32_t captured_count;

void befit_record_captured(const uint64_t *words, size_t count) {
    if (state != RECORDED)
        return;
    captured_count = count < CAPTURED ? (uint32_t)count : CAPTURED;
    for (uint32_t i = 0; i < captured_count; i++)
        captured[i] = words[i];
}

void befit_record_fork(uint32_t scope, const struct task *task) {
    if (state != RECORDED)
        return;
    end_strand();
    uint64_t argument = scope | site_of(task) << FORK_SITE_SHIFT;
    argument |= (uint64_t)captured_count << FORK_WORDS_SHIFT;
    argument |= (task->size != UNDECLARED ? FORK_SIZE : 0) |
                (task->strand != UNDECLARED ? FORK_STRAND : 0);
    befit_put_event(FORK, argument);
    if (argument & FORK_SIZE)
        befit_put(task->size);
    if (argument & FORK_STRAND)
        befit_put(task->strand);
    for (uint32_t i = 0; i < captured_count; i++)
        befit_put(captured[i]);
    captured_count = 0;
}

void befit_record_end(void) {
    if (state != RECORDED)
        return;
    end_strand();
    befit_stack_left((uintptr_t)__builtin_frame_address(0));
    befit_put_event(END, 0);
}

void befit_record_sync(uint32_t scope) {
    if (state != RECORDED)
        return;
    end_strand();
    befit_stack_left((uintptr_t)__builtin_frame_address(0));
    befit_put_event(SYNC, scope);
}

/* Apart from befit_record_region so that the padding is on the stack while this runs, and its
 * frame is below it. */
static __attribute__((noinline)) void recorded(const struct task *task, void (*body)(void *),
                                               void *data) {
    state = RECORDED;
    /* Of this task no words are known; a region inside the one before may have left some. */
    captured_count = 0;
    befit_filter_reset();
    uint32_t scope = befit_record_scope();
    befit_record_fork(scope, task);
    /* However and wherever the process ends meanwhile, its stream then ends inside the region. */
    befit_flush();
    befit_record_resume();
    body(data);
    befit_record_pause();
    befit_record_end();
    befit_record_sync(scope);
    befit_put_blocks();
    state = OUTSIDE;
    if (first == NULL)
        first = &self;
    if (first != &self)
        befit_put_event(SKIPPED, (uint64_t)1 << SKIPPED_BITS);
}

static void unrecorded(void (*body)(void *), void *data) {
    state = UNRECORDED;
    body(data);
    state = OUTSIDE;
}

/* Whether the program's malloc is that of heap.c. To ask for it also has a linker take that file
 * that looks at each library once, before the C library: nothing else here needs it. */
static int has_heap(void) {
    if (befit_places.heap.size == 0)
        free(malloc(1));
    return befit_places.heap.size != 0;
}

void befit_record_region(const struct task *task, void (*body)(void *), void *data) {
    /* two at once have no serial order; the reader is told */
    if (!befit_stream_open() || !befit_region_begins()) {
        unrecorded(body, data);
        return;
    }
    if (!has_heap()) {
        befit_put_event(FAILED, NO_HEAP);
        unrecorded(body, data);
        befit_region_ends();
        return;
    }
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    /* How far the stack pointer is from a page's start depends on the environment's length; pad
     * so that it does not below here. */
    char *padding = alloca(frame % PAGE);
    __asm__ volatile("" : : "r"(padding) : "memory");
    befit_places_enter(frame, ((uintptr_t)padding + LINE - 1) / LINE * LINE);
    recorded(task, body, data);
    __asm__ volatile("" : : "r"(padding) : "memory");
    befit_region_ends();
}
