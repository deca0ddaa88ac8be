// oneTBB: parallel_invoke for two tasks, a task_group for several. The calling thread runs the last
// of these, as TBB's documentation advises.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

struct Runtime {
    explicit Runtime(std::size_t threads)
        : limit(tbb::global_control::max_allowed_parallelism, threads), arena(static_cast<int>(threads))
    {
    }

    template <class Work> void install(const Work& work) { arena.execute(work); }

    // Of two, parallel_invoke offers the first to others and runs the second itself: they are
    // swapped here, so that every runtime runs the first half of a join first.
    template <class A, class B> static void join(const A& a, const B& b)
    {
        tbb::parallel_invoke(b, a);
    }

    // At most 16 terms.
    template <class Term> static std::uint64_t sum(std::size_t n, const Term& term)
    {
        if (n == 0) return 0;
        std::array<std::uint64_t, 16> terms;
        tbb::task_group group;
        for (std::size_t i = 0; i + 1 < n; ++i) group.run([&terms, &term, i] { terms[i] = term(i); });
        group.run_and_wait([&terms, &term, n] { terms[n - 1] = term(n - 1); });
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < n; ++i) total += terms[i];
        return total;
    }

    template <class Leaf> static void spawn_tree(std::size_t low, std::size_t high, const Leaf& leaf)
    {
        tbb::task_group group;
        spawn_into(group, low, high, leaf);
        group.wait();
    }

private:
    template <class Leaf> static void spawn_into(tbb::task_group& group, std::size_t low, std::size_t high, const Leaf& leaf)
    {
        if (high - low == 1) return leaf(low);
        const std::size_t middle = low + (high - low) / 2;
        group.run([&group, low, middle, &leaf] { spawn_into(group, low, middle, leaf); });
        group.run([&group, middle, high, &leaf] { spawn_into(group, middle, high, leaf); });
    }

    tbb::global_control limit;
    tbb::task_arena arena;
};
