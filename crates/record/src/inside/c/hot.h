/* What the callbacks need of the thread they run on. */
#ifndef BEFIT_HOT_H
#define BEFIT_HOT_H

#include <stddef.h>
#include <stdint.h>

#define LINE_BITS 6
#define LINE ((uintptr_t)1 << LINE_BITS)
#define WINDOWS 16

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A window is the first address of a line that the filter holds, so that most accesses end after
 * one comparison; no window stands at 0, where no program has data. Windows are found by
 * address; which lines the filter holds does not depend on them. */
struct hot {
    uintptr_t load_window[WINDOWS];  /* lines that may be read without a touch */
    uintptr_t store_window[WINDOWS]; /* lines that may be written without a touch */
    uint64_t loads, stores, blocks;  /* since the strand began */
    /* their values at the pause: what is counted in between is not the program's */
    uint64_t saved_loads, saved_stores, saved_blocks;
    int active;                      /* this thread is recorded, and not paused */
};

/* All zero on a thread that is not recorded. Initial-exec: the recorder is part of the
 * executable, never dlopened. */
extern __thread struct hot befit_hot __attribute__((tls_model("initial-exec")));

static inline unsigned window_of(uintptr_t address) {
    return (address >> LINE_BITS) % WINDOWS;
}

/* The thread is not active until befit_go_on: what a handler of signals touches meanwhile does not
 * come in between the words of the program's own touches. */
static inline void befit_hold(void) {
    befit_hot.active = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void befit_go_on(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    befit_hot.active = 1;
}

/* The program reads, or writes, `bytes` bytes (>= 1) at `address`; does not count them. The code
 * that does returns to `from`. Only while active, or held; the thread is active after it. */
void befit_touch(uintptr_t address, size_t bytes, int write, uintptr_t from);

/* The filter: remembers the lines touched last, so that an access to one of them is counted but
 * is no touch. README.md, "Filter", says why that loses nothing. */
#define FILTER_MOST 16

/* Forgets all: a strand begins. */
void befit_filter_reset(void);

/* What lies on the stack below `frame` is gone. */
void befit_stack_left(uintptr_t frame);

#endif
