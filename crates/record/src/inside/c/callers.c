/* Walks the stack by the tables that panics are unwound by: they are there in every build, and
 * frame pointers would change what is recorded. */
#define _GNU_SOURCE
#include "callers.h"

#include <link.h>
#include <unwind.h>

/* By the linker: the executable's first byte, and the end of its code. */
extern char __executable_start[], etext[];

struct walk {
    uintptr_t *to;
    size_t count;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data) {
    struct walk *walk = data;
    uintptr_t at = _Unwind_GetIP(context);
    if (at >= (uintptr_t)__executable_start && at < (uintptr_t)etext)
        walk->to[walk->count++] = at;
    return walk->count < CALLERS_MOST ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* The executable comes first. */
static int load_address(struct dl_phdr_info *executable, size_t size, void *data) {
    (void)size;
    *(uintptr_t *)data = executable->dlpi_addr;
    return 1;
}

size_t befit_callers(uintptr_t *to) {
    struct walk walk = {to, 0};
    _Unwind_Backtrace(visit, &walk);
    uintptr_t load = 0;
    dl_iterate_phdr(load_address, &load);
    for (size_t i = 0; i < walk.count; i++)
        to[i] -= load;
    return walk.count;
}
