// No runtime at all: plain calls.
//
// Every runtime has the same interface:
// - a constructor that takes the number of threads;
// - install(work), which calls work() inside;
// - join(a, b), which runs both, maybe in parallel;
// - sum(n, term), the sum of term(0) to term(n - 1), a task each;
// - spawn_tree(low, high, leaf), which calls leaf(low) to leaf(high - 1), a task each. A task spawns
//   the two halves of its range and waits for neither.
#pragma once

#include <cstddef>
#include <cstdint>

struct Runtime {
    explicit Runtime(std::size_t) {}

    template <class Work> void install(const Work& work) { work(); }

    template <class A, class B> static void join(const A& a, const B& b)
    {
        a();
        b();
    }

    template <class Term> static std::uint64_t sum(std::size_t n, const Term& term)
    {
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < n; ++i) total += term(i);
        return total;
    }

    template <class Leaf> static void spawn_tree(std::size_t low, std::size_t high, const Leaf& leaf)
    {
        if (high - low == 1) return leaf(low);
        const std::size_t middle = low + (high - low) / 2;
        spawn_tree(low, middle, leaf);
        spawn_tree(middle, high, leaf);
    }
};
