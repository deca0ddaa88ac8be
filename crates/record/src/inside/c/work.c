/* The work run: the same functions as region.c, for a build without instrumentation. Each event
 * tells how long the strand before it took. Everything that is done for an event lies outside of
 * the timed intervals. README.md, "The work run", is the specification. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "hot.h"
#include "stream.h"

#ifdef __x86_64__
#include <x86intrin.h>
#endif

/* A strand shorter than this is not asked for its page faults: about a microsecond. */
#define LONG_STRAND 2000
#define EMPTY_EVENTS 8192
#define BATCH 64
/* Nanoseconds after which the rate of the two clocks is known: to read them takes some ten, and a
 * ten-thousandth of that is no matter. */
#define EXACT 1000000
#define READINGS 8

static __thread enum { OUTSIDE, TIMED, UNTIMED } state; /* of this thread */
static __thread int events;      /* this thread's events are timed */
static int total_only;           /* no clock but at a region's begin and end */
static uint64_t last;            /* when the interval began */
static uint64_t price;           /* ticks of an interval in which nothing happens */
static uint64_t own;             /* nanoseconds of processor time of what is measured here */
static uint64_t faults;          /* up to the last interval that was asked for them */

static uint64_t nanoseconds_of(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t nanoseconds(void) {
    return nanoseconds_of(CLOCK_MONOTONIC);
}

static inline uint64_t ticks(void) {
#ifdef __x86_64__
    return __rdtsc();
#else
    return nanoseconds();
#endif
}

/* Both clocks at one moment: of some readings the one that took least, since the system may
 * interrupt. */
struct moment {
    uint64_t nanoseconds, ticks;
};

static struct moment moment(void) {
    struct moment best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < READINGS; i++) {
        uint64_t before = ticks(), now = nanoseconds(), taken = ticks() - before;
        if (taken < least) {
            least = taken;
            best = (struct moment){now, before + taken / 2};
        }
    }
    return best;
}

static struct moment start;
static double rate;              /* nanoseconds of a tick, by all that have passed since then */
static uint64_t again;           /* after so many ticks it is found again */

/* Where the process is younger than EXACT, waits until it is not. */
static __attribute__((noinline)) void find_rate(void) {
    own -= nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    struct moment now;
    do
        now = moment();
    while (now.nanoseconds - start.nanoseconds < EXACT);
    uint64_t passed = now.ticks - start.ticks;
    rate = (double)(now.nanoseconds - start.nanoseconds) / (double)passed;
    again = 2 * passed;
    own += nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Not by a look at the clock of nanoseconds, which takes as long as a part of a brief region. */
static uint64_t nanoseconds_of_ticks(uint64_t interval) {
    if (ticks() - start.ticks >= again)
        find_rate();
    return (uint64_t)((double)interval * rate + 0.5);
}

static uint64_t faults_so_far(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_minflt : 0;
}

__attribute__((constructor)) static void choose_mode(void) {
    total_only = getenv("BEFIT_RECORD_TOTAL") != NULL;
    unsetenv("BEFIT_RECORD_TOTAL");
    start = moment();
}

/* At the end of the process: the processor time that all of its threads have used, without what
 * the clocks here took. */
__attribute__((destructor)) static void put_process(void) {
    if (!total_only || !befit_stream_open() || befit_region_runs())
        return;
    uint64_t used = nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID);
    if (used == 0)
        return;
    befit_put_event(PROCESS, 0);
    befit_put(used > own ? used - own : 0);
    befit_flush();
}

static uint64_t less(uint64_t taken, uint64_t price_of_it) {
    return taken > price_of_it ? taken - price_of_it : 0;
}

static void put_ticks(enum event kind, uint64_t interval) {
    if (UNLIKELY(interval > LONG_STRAND)) {
        uint64_t now = faults_so_far();
        if (now != faults)
            befit_put_event(FAULTS, now - faults);
        faults = now;
    }
    befit_put_event(kind, less(interval, price));
}

/* The interval that ends here took so long; the next begins as the caller returns. */
static __attribute__((noinline)) void event(enum event kind) {
    put_ticks(kind, ticks() - last);
    last = ticks();
}

int befit_record_in_region(void) {
    return state != OUTSIDE;
}

/* Whether regions are timed as a whole: then forks, ends and syncs need not be told of. */
int befit_record_is_total(void) {
    return total_only && befit_stream_open();
}

uint32_t befit_record_scope(void) {
    return 0;
}

uintptr_t befit_record_stack_base(void) {
    return 0;
}

uintptr_t befit_record_stack_top(void) {
    return 0;
}

void befit_record_fork(uint32_t scope, const struct task *task) {
    (void)scope, (void)task;
    if (events)
        event(FORK);
}

void befit_record_end(void) {
    if (events)
        event(END);
}

void befit_record_sync(uint32_t scope) {
    (void)scope;
    if (events)
        event(SYNC);
}

/* How long an interval takes in which nothing happens: the mean of a batch, since some processors
 * count in steps of many ticks; the least of many batches, since the system may interrupt. */
static uint64_t empty_interval(void) {
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < EMPTY_EVENTS / BATCH; i++) {
        uint64_t sum = 0;
        for (unsigned j = 0; j < BATCH; j++) {
            uint64_t begin = ticks();
            __asm__ volatile("" ::: "memory");
            sum += ticks() - begin;
        }
        if (sum < least)
            least = sum;
    }
    return (least + BATCH / 2) / BATCH;
}

static void untimed(void (*body)(void *), void *data) {
    state = UNTIMED;
    body(data);
    state = OUTSIDE;
}

void befit_record_region(const struct task *task, void (*body)(void *), void *data) {
    (void)task;
    if (!befit_stream_open() || !befit_region_begins()) {
        untimed(body, data);
        return;
    }
    if (price == 0) {
        own -= nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
        price = empty_interval();
        own += nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    }
    if (!total_only)
        befit_put_event(FORK, 0);
    state = TIMED;
    uint64_t first_faults = faults = faults_so_far();
    uint64_t used = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    uint64_t first = ticks();
    last = first;
    events = !total_only;
    body(data);
    befit_record_end();
    events = 0;
    uint64_t ticks_taken = less(ticks() - first, price);
    used = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - used;
    state = OUTSIDE;
    uint64_t time = nanoseconds_of_ticks(ticks_taken);
    if (used > time) {
        /* No thread does. The rest is half of either look at its clock, and the other halves lie
         * outside. */
        own += 2 * (used - time);
        used = time;
    }
    if (!total_only)
        befit_put_event(SYNC, 0);
    befit_put_event(REGION, price);
    befit_put(time);
    befit_put(ticks_taken);
    befit_put(faults_so_far() - first_faults);
    befit_put(used);
    befit_region_ends();
}
