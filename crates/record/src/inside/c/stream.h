/* The stream of 64-bit words that the recorded process writes: crates/record/README.md is its
 * specification. */
#ifndef BEFIT_STREAM_H
#define BEFIT_STREAM_H

#include <stddef.h>
#include <stdint.h>

/* First letter in the lowest byte. */
#ifdef BEFIT_WORK
#define STREAM_MAGIC 0x6b72777469666562u /* "befitwrk" */
#else
#define STREAM_MAGIC 0x6365727469666562u /* "befitrec" */
#endif
#define STREAM_VERSION 11u

/* A touch: bit 63 clear. The line's number from bit 2. */
#define TOUCH_WRITE 1u
#define TOUCH_STACK 2u
#define TOUCH_LINE_SHIFT 2
/* Lines end below this bit. */
#define TOUCH_SPOT_SHIFT 44
/* A load whose address came out of the line of the touch before. */
#define TOUCH_DEPENDENT ((uint64_t)1 << 60)

/* An event: bit 63 set, its kind in bits 56-62, its argument below. */
#define EVENT ((uint64_t)1 << 63)
#define EVENT_KIND_SHIFT 56
/* A skipped event has the number of regions that ran unrecorded in its low bits, and above them
 * whether the recorded one ran on another thread than the first. */
#define SKIPPED_BITS 32

enum event {
    HELLO, FORK, END, SYNC, WORK, SKIPPED, FAILED, SITE, FAULTS, REGION, ATOMIC, SPOT, BLOCK,
    PROCESS
};
enum failure { TOO_MANY_FOREIGN_PAGES = 1, NO_HEAP };

/* The argument of FORK. */
#define FORK_WORDS_SHIFT 32 /* how many captured words follow */
#define FORK_SIZE ((uint64_t)1 << 40)
#define FORK_STRAND ((uint64_t)1 << 41)
#define FORK_SITE_SHIFT 42
/* The argument of SITE. */
#define SITE_NAME_SHIFT 16
#define SITE_CALLERS_SHIFT 32

/* The argument of SPOT. */
#define SPOT_CALLERS_SHIFT 16
/* In the argument of HELLO: touches have spots. */
#define HELLO_SPOTS ((uint64_t)1 << 24)

#define CAPTURED 128
#define UNDECLARED UINT64_MAX

/* What is known of a task where it is forked; in Rust `hooks::Task`. */
struct task {
    uint64_t size, strand;    /* declared, or UNDECLARED */
    const char *place;        /* the name of its closure's type */
    size_t length;            /* of the name */
    uint32_t bytes;           /* the closure's size */
    uint32_t index;           /* which closure of the fork it is */
};

/* Where a touch word or an event goes. Both keep errno. */
void befit_put(uint64_t word);
void befit_put_event(enum event kind, uint64_t argument);
void befit_flush(void);
/* A region begins. Whether it is the one that may write to the stream; others run unrecorded, and
 * the reader is told how many. */
int befit_region_begins(void);
/* It ends, and is sent whole. */
void befit_region_ends(void);
/* Whether such a region runs. */
int befit_region_runs(void);
/* Whether somebody reads the stream; where nobody does, nothing is recorded. */
int befit_stream_open(void);
/* How many lines the filter remembers, 1 to 16. */
unsigned befit_filter_depth(void);
/* Whether touches have spots. */
extern int befit_with_spots;

#endif
