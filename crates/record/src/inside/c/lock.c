/* Locks, and how they go through a fork. */
#define _GNU_SOURCE
#include "lock.h"

#include <pthread.h>
#include <sched.h>

struct lock befit_heap_lock, befit_blocks_lock;

/* This thread forks, and holds all locks. What the program and its libraries do at a fork may take
 * memory meanwhile. */
static __thread int forks;

void befit_take_lock(struct lock *lock) {
    if (forks)
        return;
    while (__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE))
        sched_yield();
}

void befit_give_lock(struct lock *lock) {
    if (!forks)
        __atomic_clear(&lock->taken, __ATOMIC_RELEASE);
}

/* No thread holds one of them while it waits for the other. */
static void before_fork(void) {
    befit_take_lock(&befit_heap_lock);
    befit_take_lock(&befit_blocks_lock);
    forks = 1;
}

/* In both processes. */
static void after_fork(void) {
    forks = 0;
    befit_give_lock(&befit_blocks_lock);
    befit_give_lock(&befit_heap_lock);
}

__attribute__((constructor)) static void heed_forks(void) {
    pthread_atfork(before_fork, after_fork, after_fork);
}
