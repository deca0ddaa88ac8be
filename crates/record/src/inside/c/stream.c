/* Buffers the stream and writes it to the inherited pipe. */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "hot.h"

#define BUFFER_WORDS 65536

static uint64_t buffer[BUFFER_WORDS];
static size_t filled;
static int pipe_fd = -1;
static unsigned filter_depth = 8;
int befit_with_spots;
static pid_t owner;
static uint32_t begun; /* while a region writes: it, and those that began since; else 0 */

/* A decimal number up to `most` in the environment; -1 when there is none. */
static long number_in_environment(const char *name, long most) {
    const char *text = getenv(name);
    if (text == NULL || *text == '\0')
        return -1;
    char *end;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value >= 0 && value <= most ? value : -1;
}

/* In a child that the process has forked, which is not recorded: the reader waits for the end of
 * all that have the pipe. */
static void leave_stream(void) {
    if (pipe_fd >= 0)
        close(pipe_fd);
    pipe_fd = -1;
    filled = 0;
}

/* Before main: takes the pipe over, so that no child process of the program inherits it or
 * thinks that it is recorded. */
__attribute__((constructor)) static void open_stream(void) {
    long fd = number_in_environment("BEFIT_RECORD_FD", 1 << 20);
    if (fd < 0 || fcntl((int)fd, F_SETFD, FD_CLOEXEC) != 0)
        return;
    long depth = number_in_environment("BEFIT_RECORD_FILTER", 16);
    if (depth >= 1)
        filter_depth = (unsigned)depth;
    befit_with_spots = number_in_environment("BEFIT_RECORD_SPOTS", 1) == 1;
    unsetenv("BEFIT_RECORD_FD");
    unsetenv("BEFIT_RECORD_FILTER");
    unsetenv("BEFIT_RECORD_SPOTS");
    pipe_fd = (int)fd;
    owner = getpid();
    pthread_atfork(NULL, NULL, leave_stream);
    befit_put_event(HELLO, STREAM_VERSION | filter_depth << 8 | LINE_BITS << 16 |
                               (befit_with_spots ? HELLO_SPOTS : 0));
    befit_put(STREAM_MAGIC);
    befit_flush();
}

int befit_stream_open(void) {
    return pipe_fd >= 0;
}

unsigned befit_filter_depth(void) {
    return filter_depth;
}

void befit_flush(void) {
    const char *next = (const char *)buffer;
    size_t left = filled * sizeof buffer[0];
    filled = 0;
    /* A child that was forked past the C library would write its parent's events again. */
    if (pipe_fd < 0 || getpid() != owner)
        return;
    int saved = errno;
    while (left > 0) {
        ssize_t written = write(pipe_fd, next, left);
        if (written > 0) {
            next += written;
            left -= (size_t)written;
        } else if (written < 0 && errno != EINTR) {
            pipe_fd = -1; /* the reader has gone; the program runs on, unrecorded */
            break;
        }
    }
    errno = saved;
}

void befit_put(uint64_t word) {
    buffer[filled++] = word;
    if (UNLIKELY(filled == BUFFER_WORDS))
        befit_flush();
}

void befit_put_event(enum event kind, uint64_t argument) {
    befit_put(EVENT | (uint64_t)kind << EVENT_KIND_SHIFT | argument);
}

int befit_region_begins(void) {
    return __atomic_fetch_add(&begun, 1, __ATOMIC_ACQUIRE) == 0;
}

int befit_region_runs(void) {
    return __atomic_load_n(&begun, __ATOMIC_ACQUIRE) != 0;
}

void befit_region_ends(void) {
    uint32_t told = 1, now = __atomic_load_n(&begun, __ATOMIC_RELAXED);
    /* To send takes as long as the reader does; regions that begin meanwhile are told of, too. */
    do {
        if (now != told)
            befit_put_event(SKIPPED, now - told);
        befit_flush();
        told = now;
    } while (!__atomic_compare_exchange_n(&begun, &now, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}
