#pragma once

#include <memory>
#include <numeric>

#include "common.hpp"

namespace spawn {

inline double run(Runtime& runtime, std::size_t n)
{
    require(n > 0 && (n & (n - 1)) == 0 && n <= std::size_t{1} << 30, "spawn: n must be a power of two, at most 2^30");
    const auto marks = std::make_unique<unsigned char[]>(n);
    const double seconds =
        timed(runtime, [&] { Runtime::spawn_tree(0, opaque(n), [&marks](std::size_t leaf) { marks[leaf] = 1; }); });
    require(std::accumulate(marks.get(), marks.get() + n, std::size_t{0}) == n, "spawn: wrong result");
    return seconds;
}

} // namespace spawn
