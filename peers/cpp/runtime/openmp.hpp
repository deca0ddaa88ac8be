// OpenMP tasks: all but one are offered to other threads; the calling thread runs that one and waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <omp.h>

struct Runtime {
    explicit Runtime(std::size_t threads)
    {
        omp_set_dynamic(0);
        omp_set_num_threads(static_cast<int>(threads));
    }

    template <class Work> void install(const Work& work)
    {
#pragma omp parallel
#pragma omp single
        work();
    }

    template <class A, class B> static void join(const A& a, const B& b)
    {
        // By pointer: the task must not copy the closure.
        const B* second = &b;
#pragma omp task firstprivate(second)
        (*second)();
        a();
#pragma omp taskwait
    }

    // At most 16 terms.
    template <class Term> static std::uint64_t sum(std::size_t n, const Term& term)
    {
        if (n == 0) return 0;
        std::array<std::uint64_t, 16> terms;
        std::uint64_t* results = terms.data();
        const Term* each = &term;
        for (std::size_t i = 0; i + 1 < n; ++i) {
#pragma omp task firstprivate(results, each, i)
            results[i] = (*each)(i);
        }
        results[n - 1] = term(n - 1);
#pragma omp taskwait
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < n; ++i) total += terms[i];
        return total;
    }

    template <class Leaf> static void spawn_tree(std::size_t low, std::size_t high, const Leaf& leaf)
    {
#pragma omp taskgroup
        spawn_halves(low, high, &leaf);
    }

private:
    template <class Leaf> static void spawn_halves(std::size_t low, std::size_t high, const Leaf* leaf)
    {
        if (high - low == 1) return (*leaf)(low);
        const std::size_t middle = low + (high - low) / 2;
#pragma omp task firstprivate(low, middle, leaf)
        spawn_halves(low, middle, leaf);
#pragma omp task firstprivate(middle, high, leaf)
        spawn_halves(middle, high, leaf);
    }
};
