/* The filter: remembers the lines touched last, so that an access to one of them is counted but is no touch. README.md, "Filter",
 * says why that loses nothing. */
#ifndef BEFIT_FILTER_H
#define BEFIT_FILTER_H

#define FILTER_MOST 16

/* Forgets all: a strand begins. */
void befit_filter_reset(void);

#endif
