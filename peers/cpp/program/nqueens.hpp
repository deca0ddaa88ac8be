#pragma once

#include <array>

#include "common.hpp"

namespace nqueens {

constexpr std::size_t most = 16;
constexpr std::array<std::uint64_t, most + 1> solutions{
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

using Board = std::array<std::int8_t, most>;

inline bool stands(const Board& board, std::size_t column, int row)
{
    for (std::size_t i = 0; i < column; ++i) {
        const int other = board[i], distance = static_cast<int>(column - i);
        if (row == other || row == other - distance || row == other + distance) return false;
    }
    return true;
}

inline std::uint64_t place(std::size_t n, std::size_t column, const Board board)
{
    if (column == n) return 1;
    Board rows;
    std::size_t count = 0;
    for (std::size_t row = 0; row < n; ++row)
        if (stands(board, column, static_cast<int>(row))) rows[count++] = static_cast<std::int8_t>(row);
    return Runtime::sum(count, [&board, &rows, n, column](std::size_t i) {
        Board next = board;
        next[column] = rows[i];
        return place(n, column + 1, next);
    });
}

inline double run(Runtime& runtime, std::size_t n)
{
    require(n <= most, "nqueens: n must be at most 16");
    std::uint64_t found = 0;
    const double seconds = timed(runtime, [&] { found = place(opaque(n), 0, Board{}); });
    require(found == solutions[n], "nqueens: wrong result");
    return seconds;
}

} // namespace nqueens
