/* Finds the places of address.h, and numbers foreign pages. */
#define _GNU_SOURCE
#include "address.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "stream.h"

struct places befit_places;

/* By the linker: the executable's first and last byte. */
extern char __executable_start[], _end[];

#define PAGE_BITS 12
#define SLOT_BITS 22
#define SLOTS ((size_t)1 << SLOT_BITS)

/* An open hash table from page to number, both from 1; never shrinks. It covers 8 GiB at half
 * load. */
struct slot {
    uintptr_t page;
    uintptr_t number;
};
static struct slot *slots;
static uintptr_t pages;
static struct slot last;

static uintptr_t number_of(uintptr_t page) {
    if (slots == NULL) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *table = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (table == MAP_FAILED)
            return 0;
        slots = table;
    }
    size_t at = (page * 0x9e3779b97f4a7c15u) >> (64 - SLOT_BITS);
    while (slots[at].page != 0 && slots[at].page != page)
        at = (at + 1) % SLOTS;
    if (slots[at].page == 0) {
        if (pages == SLOTS / 2)
            return 0;
        slots[at].page = page;
        slots[at].number = ++pages;
    }
    return slots[at].number;
}

uintptr_t befit_foreign(uintptr_t address) {
    uintptr_t page = address >> PAGE_BITS;
    if (page != last.page) {
        uintptr_t number = number_of(page);
        if (number == 0) {
            static int told;
            if (!told)
                befit_put_event(FAILED, TOO_MANY_FOREIGN_PAGES);
            told = 1;
            return FOREIGN_SPACE;
        }
        last.page = page;
        last.number = number;
    }
    uintptr_t in_page = address & (((uintptr_t)1 << PAGE_BITS) - 1);
    return FOREIGN_SPACE + (last.number << PAGE_BITS) + in_page;
}

void befit_places_enter(uintptr_t frame, uintptr_t top) {
    struct places *at = &befit_places;
    at->image.base = (uintptr_t)__executable_start;
    at->image.size = (uintptr_t)_end - at->image.base;

    /* where the system does not tell, no stack is known and all of it is foreign */
    uintptr_t low = top, high = top;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *start;
        size_t size;
        if (pthread_attr_getstack(&attributes, &start, &size) == 0) {
            low = (uintptr_t)start;
            high = low + size;
        }
        pthread_attr_destroy(&attributes);
    }
    /* The program has gone on in memory of its own (coroutines): of that no bounds are known. */
    if (top < low || top > high)
        low = high = top;
    /* Of a stack without a limit the system says that it reaches down to the next mapping, and
     * later ones may lie between. */
    if (top - low > STACK_SPACE - STACK_FLOOR)
        low = top - (STACK_SPACE - STACK_FLOOR);
    at->stack.base = low;
    at->stack.size = top - low;
    at->caller.base = top;
    at->caller.size = high - top;
    at->frame = frame;
}
