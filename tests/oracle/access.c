/* Reads and writes arrays in known orders, with next to nothing beside: no C library, no stack
   traffic in the loops.
   Run under two of valgrind's tools by run.py: one counts misses, the other prints every access.

   argv[0]'s last letter picks the order: s for sequential, r for random. */

#define WORDS (1u << 15) /* 256 KiB of 8-byte words */

static volatile unsigned long data[WORDS] __attribute__((aligned(4096)));

static void leave(void) {
    __asm__ volatile("syscall" : : "a"(60L), "D"(0L) : "rcx", "r11", "memory");
    __builtin_unreachable();
}

static void sequential(void) {
    for (int pass = 0; pass < 3; pass++)
        for (unsigned i = 0; i < WORDS; i++) data[i];
}

static void random_order(void) {
    unsigned long state = 88172645463325252ul;
    for (int i = 0; i < 100000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (i % 4 == 0) data[state % WORDS] = state;
        else data[state % WORDS];
    }
}

__attribute__((noreturn, used)) static void run(long *stack) {
    char *name = (char *)stack[1];
    while (name[1]) name++;
    if (*name == 's') sequential();
    else random_order();
    leave();
    __builtin_unreachable();
}

__attribute__((naked, noreturn)) void _start(void) {
    __asm__ volatile("mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall run");
}
