/* malloc and its family for recorded programs: never hands a freed address out again, else
 * unrelated tasks would seem to share data, and gives each block the same address in every run.
 *
 * A bump allocator over one large reservation. The pages of freed blocks go back to the system:
 * those that a block has to itself at once, a shared page when the last block on it is freed. A
 * block of LARGE bytes or more has its pages to itself, as under the C library's own malloc,
 * which maps such blocks one by one. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "address.h"
#include "hot.h"
#include "lock.h"
#include "spots.h"
#include "stream.h"

#define PAGE ((uintptr_t)4096)
#define GRAIN ((uintptr_t)16)
#define LARGE ((size_t)128 << 10)
#define MOST ((uintptr_t)1 << 40)
#define LEAST ((uintptr_t)1 << 30)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Stands right before each block. */
struct header {
    size_t capacity; /* bytes from the block's start to its end */
    size_t unused;   /* keeps the block aligned to GRAIN */
};

static uintptr_t top;   /* where the next block may begin; 0 before the first */
static uintptr_t limit;
static uint32_t *live;  /* per page: blocks that begin or end on it */

void *memcpy(void *, const void *, size_t);
void abort(void) __attribute__((noreturn));

static uintptr_t round_up(uintptr_t n, uintptr_t to) {
    return (n + to - 1) & ~(to - 1);
}

static void *reserve(uintptr_t at, uintptr_t size, int flags) {
    flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* The largest reservation that the system grants, at the normal address if that is free. */
static int open_heap(void) {
    for (uintptr_t size = MOST; size >= LEAST; size /= 2) {
        void *heap = reserve(HEAP_SPACE, size, MAP_FIXED_NOREPLACE);
        if (heap == NULL)
            heap = reserve(0, size, 0);
        if (heap == NULL)
            continue;
        void *counts = reserve(0, size / PAGE * sizeof *live, 0);
        if (counts == NULL) {
            munmap(heap, size);
            continue;
        }
        live = counts;
        befit_places.heap.base = (uintptr_t)heap;
        befit_places.heap.size = size;
        limit = (uintptr_t)heap + size;
        top = (uintptr_t)heap;
        return 1;
    }
    return 0;
}

static struct header *header_of(void *block) {
    return (struct header *)block - 1;
}

/* Whether the block is of this heap. A library may have blocks of another, which have no header. */
static int is_ours(void *block) {
    return is_within(&befit_places.heap, (uintptr_t)block);
}

static uint32_t *blocks_on(uintptr_t page) {
    return &live[(page - befit_places.heap.base) / PAGE];
}

/* Writes a line to stderr. */
static void tell(const char *line, size_t length) {
    if (write(STDERR_FILENO, line, length) < 0) {
        /* Nobody is told. */
    }
}

/* The program is told once: it may go on without the memory, and ask again. */
static void tell_exhausted(void) {
    static const char line[] =
        "befit: malloc has no more memory: while a program is recorded, what it frees is not given "
        "out again, so all that it takes may not be more than 1 TiB, or what the system grants; "
        "record it with a smaller input\n";
    static int told;
    if (!told)
        tell(line, sizeof line - 1);
    told = 1;
}

/* `align` is a power of two, GRAIN at least. Fresh memory is zero. */
static void *take(size_t bytes, uintptr_t align) {
    if (bytes == 0)
        bytes = 1;
    if (bytes > MOST || align > MOST) {
        errno = ENOMEM;
        return NULL;
    }
    befit_take_lock(&befit_heap_lock);
    if (top == 0 && !open_heap()) {
        befit_give_lock(&befit_heap_lock);
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t own = bytes >= LARGE ? PAGE : GRAIN;
    uintptr_t block = round_up(round_up(top, own) + sizeof(struct header), align);
    uintptr_t end = round_up(block + bytes, own);
    if (end > limit) {
        tell_exhausted();
        befit_give_lock(&befit_heap_lock);
        errno = ENOMEM;
        return NULL;
    }
    top = end;
    uintptr_t first = (uintptr_t)header_of((void *)block) & ~(PAGE - 1);
    uintptr_t last = (end - 1) & ~(PAGE - 1);
    ++*blocks_on(first);
    if (last != first)
        ++*blocks_on(last);
    header_of((void *)block)->capacity = end - block;
    befit_give_lock(&befit_heap_lock);
    if (UNLIKELY(befit_with_spots) && bytes >= LARGE)
        befit_block(HEAP_SPACE + (block - befit_places.heap.base), bytes);
    return (void *)block;
}

void *malloc(size_t bytes) {
    return take(bytes, GRAIN);
}

void free(void *block) {
    if (block == NULL || !is_ours(block))
        return;
    befit_take_lock(&befit_heap_lock);
    uintptr_t end = (uintptr_t)block + header_of(block)->capacity;
    uintptr_t first = (uintptr_t)header_of(block) & ~(PAGE - 1), last = (end - 1) & ~(PAGE - 1);
    /* Pages from `low` to below `high` hold nothing that is in use. A later block may still
     * begin on the page of `top`. */
    uintptr_t low = first, high = last + PAGE;
    if (--*blocks_on(first) != 0 || first + PAGE > top)
        low = first + PAGE;
    if (last != first && (--*blocks_on(last) != 0 || last + PAGE > top))
        high = last;
    if (low < high) {
        int saved = errno;
        madvise((void *)low, high - low, MADV_DONTNEED);
        errno = saved;
    }
    befit_give_lock(&befit_heap_lock);
}

void *calloc(size_t count, size_t each) {
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return take(bytes, GRAIN);
}

void *realloc(void *block, size_t bytes) {
    if (block == NULL)
        return take(bytes, GRAIN);
    if (!is_ours(block)) {
        static const char line[] = "befit: realloc of memory that malloc did not give out\n";
        tell(line, sizeof line - 1);
        abort();
    }
    size_t capacity = header_of(block)->capacity;
    if (bytes != 0 && bytes <= capacity)
        return block;
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    void *moved = take(bytes, GRAIN);
    if (moved == NULL)
        return NULL;
    /* The C library moves a large block's pages and touches none of it, so the copy is not the
     * program's. */
    struct hot *hot = &befit_hot;
    int active = hot->active;
    if (capacity >= LARGE)
        hot->active = 0;
    memcpy(moved, block, capacity);
    hot->active = active;
    free(block);
    return moved;
}

void *reallocarray(void *block, size_t count, size_t each) {
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

static int is_power_of_two(size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

int posix_memalign(void **out, size_t align, size_t bytes) {
    if (!is_power_of_two(align) || align % sizeof(void *) != 0)
        return EINVAL;
    int saved = errno;
    void *block = take(bytes, align < GRAIN ? GRAIN : align);
    errno = saved;
    if (block == NULL)
        return ENOMEM;
    *out = block;
    return 0;
}

void *memalign(size_t align, size_t bytes) {
    if (!is_power_of_two(align)) {
        errno = EINVAL;
        return NULL;
    }
    return take(bytes, align < GRAIN ? GRAIN : align);
}

void *aligned_alloc(size_t align, size_t bytes) {
    return memalign(align, bytes);
}

void *valloc(size_t bytes) {
    return take(bytes, PAGE);
}

void *pvalloc(size_t bytes) {
    return take(round_up(bytes, PAGE), PAGE);
}

size_t malloc_usable_size(void *block) {
    return block == NULL || !is_ours(block) ? 0 : header_of(block)->capacity;
}
