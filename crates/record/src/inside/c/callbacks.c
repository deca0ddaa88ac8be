/* What the instrumented code calls before each access and in each basic block, and the filter
 * behind it. The names are LLVM's: of its sanitizer-coverage pass, and of its memprof pass for
 * what that leaves out. */
#include "address.h"
#include "dependent.h"
#include "hot.h"
#include "spots.h"
#include "stream.h"

__thread struct hot befit_hot;

typedef uint32_t quad __attribute__((vector_size(16)));
#define QUADS (FILTER_MOST / 4)

struct filter {
    /* the low half of each line's number: four are compared at once */
    quad low[QUADS];
    uintptr_t line[FILTER_MOST];    /* normal line number, NO_LINE in an empty place */
    uintptr_t window[FILTER_MOST];  /* first (real) address of the line */
    unsigned written;               /* bit i: line i was touched by a write */
    unsigned next;                  /* the place that is replaced next */
    unsigned depth;
};
#define NO_LINE UINTPTR_MAX

static struct filter filter;

/* Lines on which the program has made atomic read-modify-writes: workers share them, and each of
 * them takes them from the others. So no access to one of them is left out. A line is at the place
 * that its number gives; one that takes the place of another is told again when it comes back. */
#define ATOMICS 4096
static uintptr_t atomics[ATOMICS];
static int any_atomics;

/* Lines on the stack with such a word: tasks that are forked below it share it, as a lock or a
 * counter that closures capture by reference. Each has a number of its own, among those of shared
 * data, until its frame has returned. */
#define SHARED 32
static struct {
    uintptr_t window; /* its first real address */
    uintptr_t line, number;
} shared[SHARED];
static unsigned shared_count;
static uintptr_t shared_ever;

/* The normal address of what lies at `normal` on the stack, if tasks share it. */
static __attribute__((noinline)) uintptr_t of_shared(uintptr_t normal) {
    for (unsigned i = 0; i < shared_count; i++)
        if (shared[i].line == normal >> LINE_BITS)
            return shared[i].number << LINE_BITS | normal % LINE;
    return normal;
}

void befit_stack_left(uintptr_t frame) {
    unsigned kept = 0;
    for (unsigned i = 0; i < shared_count; i++)
        if (shared[i].window + LINE > frame)
            shared[kept++] = shared[i];
    shared_count = kept;
}

/* The normal address as the recording has it. */
static inline uintptr_t recorded_address(uintptr_t address) {
    uintptr_t normal = normal_address(address);
    if (UNLIKELY(shared_count != 0) && is_stack(normal))
        return of_shared(normal);
    return normal;
}

static inline int is_atomic(uintptr_t line) {
    return UNLIKELY(any_atomics) && atomics[line % ATOMICS] == line;
}

void befit_filter_reset(void) {
    struct hot *hot = &befit_hot;
    for (unsigned i = 0; i < FILTER_MOST; i++) {
        filter.low[i / 4][i % 4] = (uint32_t)NO_LINE;
        filter.line[i] = NO_LINE;
        filter.window[i] = 0;
    }
    for (unsigned i = 0; i < WINDOWS; i++)
        hot->load_window[i] = hot->store_window[i] = 0;
    filter.written = 0;
    filter.next = 0;
    filter.depth = befit_filter_depth();
    befit_dependent_reset();
}

/* The place of `line`, or FILTER_MOST. */
static inline unsigned find(uintptr_t line) {
    uint32_t low = (uint32_t)line;
    quad all = {low, low, low, low}, bits = {1, 2, 4, 8}, hits = {0, 0, 0, 0};
    for (unsigned q = 0; q < QUADS; q++)
        hits |= (quad)(filter.low[q] == all) & bits << 4 * q;
    typedef uint64_t pair __attribute__((vector_size(16)));
    pair halves = (pair)hits;
    uint64_t both = halves[0] | halves[1];
    unsigned found = (unsigned)(both | both >> 32);
    while (UNLIKELY(found != 0)) {
        unsigned i = (unsigned)__builtin_ctz(found);
        if (LIKELY(filter.line[i] == line))
            return i;
        found &= found - 1;
    }
    return FILTER_MOST;
}

static inline void close_at(unsigned window, uintptr_t base) {
    struct hot *hot = &befit_hot;
    if (hot->load_window[window] == base)
        hot->load_window[window] = 0;
    if (hot->store_window[window] == base)
        hot->store_window[window] = 0;
}

static inline void close_window(uintptr_t base) {
    close_at(window_of(base), base);
    if (UNLIKELY(base % LINE != 0)) /* a shifted line lies in two real ones */
        close_at(window_of(base + LINE - 1), base);
}

/* The line whose first real address is `window` is touched by the code that returns to `from`, at
 * `address`, or at 0 if that cannot have come out of the line before. */
static void put_touch(uintptr_t line, uintptr_t window, uintptr_t address, int write,
                      uintptr_t from) {
    uintptr_t normal = line << LINE_BITS;
    uint64_t stack = is_stack(normal);
    int dependent = !stack && befit_dependent(line, window, write ? 0 : address, from);
    /* A stack line is counted downward from the region's first frame. */
    uint64_t number = stack ? (STACK_SPACE >> LINE_BITS) - 1 - line : line;
    uint64_t spot = UNLIKELY(befit_with_spots) ? befit_spot(from) : 0;
    befit_put(number << TOUCH_LINE_SHIFT | (stack ? TOUCH_STACK : 0) | (write ? TOUCH_WRITE : 0) |
              spot << TOUCH_SPOT_SHIFT | (dependent ? TOUCH_DEPENDENT : 0));
}

/* One line is accessed; `window` is its first real address, `address` what was asked for, 0 if
 * that began in another line. Returns whether the filter holds it now. */
static inline int touch_line(uintptr_t line, uintptr_t window, uintptr_t address, int write,
                             uintptr_t from) {
    if (is_atomic(line)) {
        put_touch(line, window, address, write, from);
        return 0;
    }
    unsigned place = find(line);
    if (place == FILTER_MOST) {
        place = filter.next;
        filter.next = place + 1 == filter.depth ? 0 : place + 1;
        close_window(filter.window[place]);
        filter.low[place / 4][place % 4] = (uint32_t)line;
        filter.line[place] = line;
        filter.window[place] = window;
        filter.written = (filter.written & ~(1u << place)) | (unsigned)write << place;
        put_touch(line, window, address, write, from);
    } else if (write && !(filter.written >> place & 1)) {
        filter.written |= 1u << place;
        put_touch(line, window, 0, 1, from);
    }
    return 1;
}

/* The filter no longer holds the line. */
static void forget(uintptr_t line) {
    unsigned place = find(line);
    if (place != FILTER_MOST) {
        close_window(filter.window[place]);
        filter.low[place / 4][place % 4] = (uint32_t)NO_LINE;
        filter.line[place] = NO_LINE;
        filter.window[place] = 0;
    }
}

/* From now on tasks share what lies at `address`, on the stack. */
static __attribute__((noinline)) void share(uintptr_t address, uintptr_t normal) {
    if (shared_count == SHARED)
        return;
    forget(normal >> LINE_BITS);
    shared[shared_count].window = address - normal % LINE;
    shared[shared_count].line = normal >> LINE_BITS;
    shared[shared_count].number = (SHARED_SPACE >> LINE_BITS) + shared_ever;
    shared_count++;
    shared_ever++;
}

/* From now on the line's accesses are all touches. */
static __attribute__((noinline)) void add_atomic(uintptr_t line) {
    forget(line);
    atomics[line % ATOMICS] = line;
    any_atomics = 1;
    befit_put_event(ATOMIC, 0);
    befit_put(line);
}

/* The further lines of an access are touched, from `at` to before `end`. Each is looked up by
 * itself: lines side by side may have numbers that are far apart. */
static __attribute__((noinline)) void touch_further(uintptr_t at, uintptr_t end, int write,
                                                    uintptr_t from) {
    while (at < end) {
        uintptr_t normal = recorded_address(at);
        uintptr_t window = at - normal % LINE;
        touch_line(normal >> LINE_BITS, window, 0, write, from);
        at = window + LINE;
    }
}

void befit_touch(uintptr_t address, size_t bytes, int write, uintptr_t from) {
    befit_hold();
    struct hot *hot = &befit_hot;
    uintptr_t normal = recorded_address(address);
    uintptr_t window = address - normal % LINE;
    uintptr_t first = normal >> LINE_BITS, last = (normal + bytes - 1) >> LINE_BITS;
    int held = touch_line(first, window, address, write, from);
    if (LIKELY(first == last)) {
        if (LIKELY(held))
            (write ? hot->store_window : hot->load_window)[window_of(address)] = window;
    } else {
        touch_further(window + LINE, address + bytes, write, from);
    }
    befit_go_on();
}

/* Where the instrumented code goes on. */
#define FROM ((uintptr_t)__builtin_return_address(0))

#define CALLBACKS(SIZE)                                                                   \
    void __sanitizer_cov_load##SIZE(const void *address) {                               \
        uintptr_t at = (uintptr_t)address;                                                \
        if (LIKELY(at - befit_hot.load_window[window_of(at)] <= LINE - SIZE)) {           \
            befit_hot.loads++;                                                            \
        } else if (befit_hot.active) {                                                    \
            befit_hot.loads++;                                                            \
            befit_touch(at, SIZE, 0, FROM);                                               \
        }                                                                                 \
    }                                                                                     \
    void __sanitizer_cov_store##SIZE(const void *address) {                              \
        uintptr_t at = (uintptr_t)address;                                                \
        if (LIKELY(at - befit_hot.store_window[window_of(at)] <= LINE - SIZE)) {          \
            befit_hot.stores++;                                                           \
        } else if (befit_hot.active) {                                                    \
            befit_hot.stores++;                                                           \
            befit_touch(at, SIZE, 1, FROM);                                               \
        }                                                                                 \
    }
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)

void __sanitizer_cov_trace_pc(void) {
    befit_hot.blocks++;
}

/* An atomic read-modify-write; its size is not told, but it never straddles lines. */
void __memprof_store(const void *address) {
    if (befit_hot.active) {
        befit_hold();
        befit_hot.loads++;
        befit_hot.stores++;
        uintptr_t normal = recorded_address((uintptr_t)address);
        if (is_stack(normal)) {
            share((uintptr_t)address, normal);
            normal = recorded_address((uintptr_t)address);
        }
        uintptr_t line = normal >> LINE_BITS;
        /* More of them than there is room for count as the worker's own. */
        if (!is_stack(normal) && atomics[line % ATOMICS] != line)
            add_atomic(line);
        befit_touch((uintptr_t)address, 1, 1, FROM);
    }
}

/* The memprof pass is told to leave loads alone, but may declare these. */
void __memprof_load(const void *address) {
    (void)address;
}
uintptr_t __memprof_shadow_memory_dynamic_address;
