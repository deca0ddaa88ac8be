/* Which code makes touches, and which takes memory. Only of recordings that were asked for it. */
#ifndef BEFIT_SPOTS_H
#define BEFIT_SPOTS_H

#include <stddef.h>
#include <stdint.h>

/* The number, from 1, of the spot of the code that returns to `from`, which the reader has been
 * told of; a later spot may take the number of an earlier one. */
uint64_t befit_spot(uintptr_t from);

/* The program has taken the `bytes` bytes at `block`, whose normal address is `normal`. On any
 * thread. */
void befit_block(uintptr_t normal, size_t bytes);

/* Tells the reader of the blocks taken so far. On the recorded thread. */
void befit_put_blocks(void);

#endif
