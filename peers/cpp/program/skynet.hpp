#pragma once

#include "common.hpp"

namespace skynet {

constexpr std::size_t branches = 10;

inline std::uint64_t skynet(std::uint64_t first, std::uint64_t leaves)
{
    if (leaves == 1) return first;
    const std::uint64_t each = leaves / branches;
    return Runtime::sum(branches, [=](std::size_t i) { return skynet(first + each * i, each); });
}

inline double run(Runtime& runtime, std::size_t n)
{
    std::size_t power = 1;
    while (power < n && power < 1000000000) power *= branches;
    require(n == power, "skynet: n must be a power of ten, at most 10^9");
    std::uint64_t found = 0;
    const double seconds = timed(runtime, [&] { found = skynet(0, opaque(std::uint64_t{n})); });
    require(found == std::uint64_t{n} * (n - 1) / 2, "skynet: wrong result");
    return seconds;
}

} // namespace skynet
