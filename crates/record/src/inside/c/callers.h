/* Who called whom: for the line of the source that a site is at. */
#ifndef BEFIT_CALLERS_H
#define BEFIT_CALLERS_H

#include <stddef.h>
#include <stdint.h>

#define CALLERS_MOST 1024

/* The return addresses in the executable's code of the functions that run, the innermost first, as
 * its file counts addresses; at most CALLERS_MOST, and their number. Takes microseconds a frame. */
size_t befit_callers(uintptr_t *to);

#endif
