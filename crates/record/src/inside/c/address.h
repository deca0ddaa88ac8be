/* Where things are, independent of where the system put them: address-space randomisation, the
 * length of the environment and the order in which libraries were mapped must not show in a
 * recording. */
#ifndef BEFIT_ADDRESS_H
#define BEFIT_ADDRESS_H

#include <stdint.h>

/* The normal address space. No two spaces meet, and each begins on a page. */
#define IMAGE_SPACE ((uintptr_t)0x000010000000) /* the executable: its statics */
#define HEAP_SPACE ((uintptr_t)0x100000000000)
#define FOREIGN_SPACE ((uintptr_t)0x200000000000) /* mmap, libraries, thread-locals */
#define CALLER_SPACE ((uintptr_t)0x300000000000) /* frames older than the region: data of main */
#define SHARED_SPACE ((uintptr_t)0x340000000000) /* lines of the stack that tasks share */
#define STACK_SPACE ((uintptr_t)0x400000000000) /* frames of the region, below this address */
#define STACK_FLOOR ((uintptr_t)0x380000000000)

struct range {
    uintptr_t base, size;
};

struct places {
    struct range heap;   /* set by heap.c */
    /* of the recorded thread, from its low limit up to the region's first frame */
    struct range stack;
    struct range image;
    struct range caller; /* of the recorded thread, above `stack` */
    uintptr_t frame;     /* frame address of the region's entry: what CALLER_SPACE is relative to */
};

extern struct places befit_places;

/* The normal address of anything else; page by page, in the order of first touch. */
uintptr_t befit_foreign(uintptr_t address);
/* Sets image, stack and caller for a region of this thread. `top` is a multiple of the line
 * size. */
void befit_places_enter(uintptr_t frame, uintptr_t top);

static inline int is_within(const struct range *range, uintptr_t address) {
    return address - range->base < range->size;
}

/* The normal address. Two addresses in one of the places keep their distance. */
static inline uintptr_t normal_address(uintptr_t address) {
    const struct places *at = &befit_places;
    if (is_within(&at->heap, address))
        return HEAP_SPACE + (address - at->heap.base);
    if (is_within(&at->stack, address))
        return STACK_SPACE - (at->stack.base + at->stack.size - address);
    if (is_within(&at->image, address))
        return IMAGE_SPACE + (address - at->image.base);
    if (is_within(&at->caller, address))
        return CALLER_SPACE + (address - at->frame);
    return befit_foreign(address);
}

static inline int is_stack(uintptr_t normal) {
    return normal >= STACK_FLOOR;
}

#endif
