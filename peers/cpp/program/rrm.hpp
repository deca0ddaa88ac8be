#pragma once

#include <vector>

#include "common.hpp"

namespace rrm {

constexpr int repeats = 3;
constexpr std::size_t serial_below = 1 << 14;
constexpr std::size_t ends_at = 1 << 13;

inline void map(const double* __restrict a, double* __restrict b, std::size_t n)
{
    if (n < serial_below) {
        for (std::size_t i = 0; i < n; ++i) b[i] = a[i] + 1.0;
        return;
    }
    const std::size_t half = n / 2;
    Runtime::join([=] { map(a, b, half); }, [=] { map(a + half, b + half, n - half); });
}

inline void repeat_and_cut(const double* a, double* b, std::size_t n)
{
    if (n <= ends_at) return;
    for (int i = 0; i < repeats; ++i) map(a, b, n);
    const std::size_t half = n / 2;
    Runtime::join([=] { repeat_and_cut(a, b, half); }, [=] { repeat_and_cut(a + half, b + half, n - half); });
}

inline double run(Runtime& runtime, std::size_t n)
{
    std::vector<double> a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) a[i] = static_cast<double>(i);
    const double seconds = timed(runtime, [&] { repeat_and_cut(a.data(), b.data(), n); });
    for (std::size_t i = 0; i < n; ++i)
        require(b[i] == (n > ends_at ? static_cast<double>(i) + 1.0 : 0.0), "rrm: wrong result");
    return seconds;
}

} // namespace rrm
