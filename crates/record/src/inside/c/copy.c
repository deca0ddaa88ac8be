/* memcpy and its family for recorded programs. They record themselves, line by line, and count
 * an access per 16 bytes, the widest that is reported of other accesses. Instrumented code calls
 * them by the names that LLVM's memprof pass gives to copies and fills, also short ones; code
 * that is not instrumented, like most of std, by their usual names. Compiled so that the
 * compiler makes no memcpy of their loops. */
#include <stddef.h>
#include <stdint.h>

#include "hot.h"

#define WIDE 16

static void count(uint64_t *counter, size_t bytes) {
    *counter += (bytes + WIDE - 1) / WIDE;
}

/* What is read at `from` and written at `to`, in the order of a forward copy, for the code that
 * returns to `caller`; either of the first two may be null. */
static __attribute__((noinline)) void touch(uintptr_t from, uintptr_t to, size_t bytes,
                                            uintptr_t caller) {
    struct hot *hot = &befit_hot;
    if (from)
        count(&hot->loads, bytes);
    if (to)
        count(&hot->stores, bytes);
    for (size_t done = 0; done < bytes; done += LINE) {
        size_t part = bytes - done < LINE ? bytes - done : LINE;
        if (from)
            befit_touch(from + done, part, 0, caller);
        if (to)
            befit_touch(to + done, part, 1, caller);
    }
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

#define RECORD(FROM, TO, BYTES)                                       \
    do {                                                              \
        if (UNLIKELY(befit_hot.active) && (BYTES) != 0)               \
            touch((uintptr_t)(FROM), (uintptr_t)(TO), (BYTES), CALLER);\
    } while (0)

typedef uint64_t word __attribute__((may_alias, aligned(1)));

static void copy_up(char *to, const char *from, size_t bytes) {
#ifdef __x86_64__
    if (bytes >= 256) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
        return;
    }
#endif
    for (; bytes >= sizeof(word); bytes -= sizeof(word), to += sizeof(word), from += sizeof(word))
        *(word *)to = *(const word *)from;
    for (; bytes > 0; bytes--)
        *to++ = *from++;
}

static void copy_down(char *to, const char *from, size_t bytes) {
    for (; bytes >= sizeof(word); bytes -= sizeof(word))
        *(word *)(to + bytes - sizeof(word)) = *(const word *)(from + bytes - sizeof(word));
    while (bytes-- > 0)
        to[bytes] = from[bytes];
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    RECORD(from, to, bytes);
    copy_up(to, from, bytes);
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    RECORD(from, to, bytes);
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        copy_up(to, from, bytes);
    else
        copy_down(to, from, bytes);
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    RECORD(NULL, to, bytes);
    char *at = to;
    size_t left = bytes;
#ifdef __x86_64__
    if (left >= 256) {
        __asm__ volatile("rep stosb" : "+D"(at), "+c"(left) : "a"(value) : "memory");
        return to;
    }
#endif
    uint64_t all = (unsigned char)value * 0x0101010101010101u;
    for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word))
        *(word *)at = all;
    for (; left > 0; left--)
        *at++ = (char)value;
    return to;
}

int memcmp(const void *left, const void *right, size_t bytes) {
    const unsigned char *a = left, *b = right;
    size_t same = 0;
    while (same < bytes && a[same] == b[same])
        same++;
    size_t looked = same < bytes ? same + 1 : bytes;
    if (UNLIKELY(befit_hot.active) && looked != 0) {
        count(&befit_hot.loads, 2 * looked);
        for (size_t done = 0; done < looked; done += LINE) {
            size_t part = looked - done < LINE ? looked - done : LINE;
            befit_touch((uintptr_t)a + done, part, 0, CALLER);
            befit_touch((uintptr_t)b + done, part, 0, CALLER);
        }
    }
    return same < bytes ? a[same] - b[same] : 0;
}

int bcmp(const void *left, const void *right, size_t bytes) {
    return memcmp(left, right, bytes);
}

void *__memprof_memcpy(void *, const void *, size_t) __attribute__((alias("memcpy")));
void *__memprof_memmove(void *, const void *, size_t) __attribute__((alias("memmove")));
void *__memprof_memset(void *, int, size_t) __attribute__((alias("memset")));
