/* Locks of the recorder's own. A thread that forks holds all of them meanwhile, so that its child,
 * in which no other thread is, finds them free, and whole what they guard. */
#ifndef BEFIT_LOCK_H
#define BEFIT_LOCK_H

struct lock {
    char taken;
};

extern struct lock befit_heap_lock;   /* what heap.c has given out */
extern struct lock befit_blocks_lock; /* the blocks that spots.c keeps */

void befit_take_lock(struct lock *lock);
void befit_give_lock(struct lock *lock);

#endif
