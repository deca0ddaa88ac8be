/* Which loads have their address out of the line that was touched before. */
#ifndef BEFIT_DEPENDENT_H
#define BEFIT_DEPENDENT_H

#include <stdint.h>

/* A line is touched that is not on the stack; `window` is its first real address. Returns whether
 * `address`, which the code that returns to `from` loads, came out of the line touched before; an
 * address of 0 did not. */
int befit_dependent(uintptr_t line, uintptr_t window, uintptr_t address, uintptr_t from);

/* A strand begins. */
void befit_dependent_reset(void);

#endif
