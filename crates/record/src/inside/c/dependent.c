/* Finds walks along pointers and indices, by the values in memory: the address of a load came out
 * of the line before if that line holds it, or an index that gives it. README.md, "Dependent
 * loads", says what is missed. */
#include "dependent.h"

#include <stddef.h>

#include "address.h"
#include "hot.h"

#define FIELDS 512     /* a field is less than so far behind where its structure's pointer points */
#define WORDS 16       /* of four bytes in a line */
#define STRIDES 4096   /* bytes from one index to the next at most */
#define LOADS 256      /* places of the program that loads by index are looked for at */
#define TRIES 64       /* looks for a rule at each of them */
#define SURE 3         /* loads that a rule must have foretold before it counts */

/* What is known of the load at one place of the program. */
struct load {
    uintptr_t from;
    /* The rule that an address is `base` + `stride` times an index; no rule while stride is 0. */
    uintptr_t base;
    int64_t stride;
    unsigned right, wrong, tries;
    /* One address, and the words of the line before it. */
    uintptr_t address;
    uint32_t words[WORDS];
};

/* The line touched last; none while its window is 0. */
static uintptr_t last_line, last_window;
static struct load loads[LOADS];

void befit_dependent_reset(void) {
    last_window = 0;
}

/* A line holds a pointer to the structure that has a field at `address`. */
static int is_pointed_at(const uintptr_t *line, uintptr_t address) {
    unsigned found = 0;
    for (unsigned i = 0; i < LINE / sizeof *line; i++)
        found |= address - line[i] < FIELDS;
    return found != 0;
}

/* One of the words is the index that gives `address`. */
static int is_indexed(const struct load *load, const uint32_t *words, uintptr_t address) {
    int64_t offset = (int64_t)(address - load->base);
    int64_t index = offset / load->stride;
    if (index * load->stride != offset || index < 0 || index > UINT32_MAX)
        return 0;
    unsigned found = 0;
    for (unsigned i = 0; i < WORDS; i++)
        found |= words[i] == (uint32_t)index;
    return found != 0;
}

/* Looks for a rule that gives this address and the one before out of two words. */
static void look(struct load *load, const uint32_t *words, uintptr_t address) {
    int64_t moved = (int64_t)(address - load->address);
    load->tries++;
    for (unsigned i = 0; load->address != 0 && moved != 0 && i < WORDS; i++)
        for (unsigned j = 0; j < WORDS; j++) {
            int64_t steps = (int64_t)words[i] - (int64_t)load->words[j];
            /* Most of what does not belong together gives strides that nothing has. */
            if (steps == 0 || moved / STRIDES / steps != 0 || moved % steps != 0)
                continue;
            int64_t stride = moved / steps;
            uintptr_t base = address - (uintptr_t)(stride * (int64_t)words[i]);
            /* Index 0 is on the heap, too, or just before it. Halves of floating-point numbers that
             * rise with the address would be indices of something far away. */
            if (stride < 2 || !is_within(&befit_places.heap, base + STRIDES))
                continue;
            load->stride = stride;
            load->base = base;
            load->right = load->wrong = 0;
            return;
        }
    load->address = address;
    for (unsigned i = 0; i < WORDS; i++)
        load->words[i] = words[i];
}

static int by_index(const uint32_t *words, uintptr_t address, uintptr_t from) {
    /* Which places share an entry does not depend on where the executable lies. */
    struct load *load = &loads[(from - befit_places.image.base) * 0x9e3779b97f4a7c15u >> 56];
    if (UNLIKELY(load->from != from))
        *load = (struct load){.from = from};
    if (load->stride == 0) {
        if (load->tries < TRIES)
            look(load, words, address);
        return 0;
    }
    if (is_indexed(load, words, address))
        return ++load->right > SURE;
    if (++load->wrong > 8 + 4 * load->right) {
        load->stride = 0;
        load->address = 0;
    }
    return 0;
}

int befit_dependent(uintptr_t line, uintptr_t window, uintptr_t address, uintptr_t from) {
    uintptr_t before = last_window;
    int near = line - last_line + 1 <= 2; /* a stream, or the same line again */
    last_line = line;
    /* Only there is it sure that memory can still be read. */
    last_window = is_within(&befit_places.heap, window) ? window : 0;
    if (before == 0 || address == 0 || near)
        return 0;
    return is_pointed_at((const uintptr_t *)before, address) ||
           by_index((const uint32_t *)before, address, from);
}
