#pragma once

#include <vector>

#include "common.hpp"

namespace matmul {

constexpr std::size_t leaf_rows = 32;

// A square block of a matrix whose rows are stride apart.
template <class T> struct Block {
    T* data;
    std::size_t stride;

    Block quadrant(std::size_t half, bool lower, bool right) const
    {
        return {data + (lower ? half * stride : 0) + (right ? half : 0), stride};
    }
};
using In = Block<const std::int32_t>;
using Out = Block<std::int32_t>;

inline void leaf(In a, In b, Out c, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i) {
        std::int32_t* __restrict to = c.data + i * c.stride;
        for (std::size_t k = 0; k < n; ++k) {
            const std::int32_t x = a.data[i * a.stride + k];
            const std::int32_t* __restrict row = b.data + k * b.stride;
            for (std::size_t j = 0; j < n; ++j) to[j] += x * row[j];
        }
    }
}

inline void multiply(In a, In b, Out c, std::size_t n)
{
    // A constant, so that the compiler makes loops of this length.
    if (n == leaf_rows) return leaf(a, b, c, leaf_rows);
    if (n < leaf_rows) return leaf(a, b, c, n);
    const std::size_t half = n / 2;
    // First with the left half of A and the upper half of B, then with the others.
    for (const bool second : {false, true}) {
        const auto one = [=](bool lower, bool right) {
            multiply(a.quadrant(half, lower, second), b.quadrant(half, second, right), c.quadrant(half, lower, right), half);
        };
        Runtime::join([&] { Runtime::join([&] { one(false, false); }, [&] { one(false, true); }); },
                      [&] { Runtime::join([&] { one(true, false); }, [&] { one(true, true); }); });
    }
}

inline std::vector<std::int64_t> times(const std::vector<std::int32_t>& m, const std::vector<std::int64_t>& x)
{
    std::vector<std::int64_t> result(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = 0; j < x.size(); ++j) result[i] += m[i * x.size() + j] * x[j];
    return result;
}

inline double run(Runtime& runtime, std::size_t n)
{
    require(n > 0 && (n & (n - 1)) == 0 && n <= 1 << 15, "matmul: n must be a power of two, at most 32768");
    std::vector<std::int32_t> a(n * n), b(n * n), c(n * n);
    for (std::size_t i = 0; i < n * n; ++i) {
        a[i] = static_cast<std::int32_t>(random_number(i) & 15);
        b[i] = static_cast<std::int32_t>(random_number(n * n + i) & 15);
    }
    const double seconds =
        timed(runtime, [&] { multiply({a.data(), n}, {b.data(), n}, {c.data(), n}, n); });
    std::vector<std::int64_t> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::int64_t>(random_number(2 * n * n + i) & 0xffff);
    require(times(c, x) == times(a, times(b, x)), "matmul: C is not A times B");
    return seconds;
}

} // namespace matmul
