// Functions for all programs. The programs are those of ../src/program, whose docs have their
// sources.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include RUNTIME_HEADER

// Seconds that work takes inside the runtime.
template <class Work> double timed(Runtime& runtime, const Work& work)
{
    const auto start = std::chrono::steady_clock::now();
    runtime.install(work);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline void require(bool holds, const char* otherwise)
{
    if (!holds) throw std::runtime_error(otherwise);
}

// A value that the compiler knows nothing about.
template <class T> T opaque(T value)
{
    asm volatile("" : "+r"(value));
    return value;
}

// The i-th of SplitMix64's numbers.
inline std::uint64_t random_number(std::uint64_t i)
{
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
