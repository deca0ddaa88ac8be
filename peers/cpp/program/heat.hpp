#pragma once

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "common.hpp"

namespace heat {

constexpr std::size_t columns = 512;
constexpr int steps = 100;
constexpr std::size_t leaf_rows = 8;
constexpr double mode = 3.0;

using Row = std::array<double, columns>;

inline void relax(const Row& above, const Row& here, const Row& below, Row& __restrict to)
{
    for (std::size_t j = 1; j + 1 < columns; ++j) to[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
}

// One step for the given rows of a plate of n.
inline void step(const Row* from, Row* to, std::size_t n, std::size_t first, std::size_t rows)
{
    if (rows <= leaf_rows) {
        for (std::size_t i = first; i < first + rows; ++i)
            if (i > 0 && i + 1 < n) relax(from[i - 1], from[i], from[i + 1], to[i]);
        return;
    }
    const std::size_t half = rows / 2;
    Runtime::join([=] { step(from, to, n, first, half); }, [=] { step(from, to, n, first + half, rows - half); });
}

inline double run(Runtime& runtime, std::size_t n)
{
    require(n >= 3, "heat: n must be at least 3");
    const auto angle = [](std::size_t lines) { return mode * std::acos(-1.0) / static_cast<double>(lines - 1); };
    Row across;
    for (std::size_t j = 0; j < columns; ++j) across[j] = std::sin(angle(columns) * static_cast<double>(j));
    std::vector<Row> from(n), to;
    const auto down = [=](std::size_t i) { return std::sin(angle(n) * static_cast<double>(i)); };
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < columns; ++j) from[i][j] = across[j] * down(i);
    to = from;
    const double seconds = timed(runtime, [&] {
        for (int i = 0; i < steps; ++i) {
            step(from.data(), to.data(), n, 0, n);
            std::swap(from, to);
        }
    });
    const double decay = std::pow((std::cos(angle(n)) + std::cos(angle(columns))) / 2.0, steps);
    for (std::size_t i = 1; i + 1 < n; ++i)
        for (std::size_t j = 1; j + 1 < columns; ++j)
            require(std::abs(from[i][j] - decay * down(i) * across[j]) <= 1e-10, "heat: wrong result");
    return seconds;
}

} // namespace heat
