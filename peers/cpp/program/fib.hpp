#pragma once

#include "common.hpp"

namespace fib {

template <unsigned rounds> std::uint64_t work(std::uint32_t n)
{
    std::uint64_t x = n;
    for (unsigned i = 0; i < rounds; ++i) {
        x = (x + 1) * 0x9e3779b97f4a7c15u;
        x ^= x >> 32;
    }
    return x;
}

template <unsigned rounds> std::uint64_t fib(std::uint32_t n)
{
    if (n < 2) return work<rounds>(n);
    std::uint64_t a, b;
    Runtime::join([&a, n] { a = fib<rounds>(n - 1); }, [&b, n] { b = fib<rounds>(n - 2); });
    return a + b;
}

template <unsigned rounds> double run(Runtime& runtime, std::size_t n)
{
    require(n <= 60, "fib: n must be at most 60");
    std::uint64_t found = 0;
    const double seconds = timed(runtime, [&] { found = fib<rounds>(opaque(static_cast<std::uint32_t>(n))); });
    std::uint64_t zeros = 1, ones = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t next = zeros + ones;
        zeros = ones;
        ones = next;
    }
    require(found == ones * work<rounds>(1) + zeros * work<rounds>(0), "fib: wrong result");
    return seconds;
}

} // namespace fib
