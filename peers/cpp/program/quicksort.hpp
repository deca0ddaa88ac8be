#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "common.hpp"

namespace quicksort {

constexpr std::size_t part = 1 << 14;
constexpr std::size_t insertion_below = 24;

inline double median(double a, double b, double c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

inline double ninther(const double* data, std::size_t n)
{
    const std::size_t step = n / 9;
    const auto three = [=](std::size_t i) {
        return median(data[i * step], data[(i + 1) * step], data[(i + 2) * step]);
    };
    return median(three(0), three(3), three(6));
}

inline void sort_serially(double* data, std::size_t n)
{
    while (n >= insertion_below) {
        const double pivot = median(data[0], data[n / 2], data[n - 1]);
        std::size_t i = 0, j = n - 1;
        while (i <= j) {
            while (data[i] < pivot) ++i;
            while (data[j] > pivot) --j;
            if (i <= j) std::swap(data[i++], data[j--]);
        }
        const std::size_t left = j + 1, right = n - i;
        if (left < right) {
            sort_serially(data, left);
            data += i;
            n = right;
        } else {
            sort_serially(data + i, right);
            n = left;
        }
    }
    for (std::size_t i = 1; i < n; ++i) {
        const double x = data[i];
        std::size_t j = i;
        for (; j > 0 && data[j - 1] > x; --j) data[j] = data[j - 1];
        data[j] = x;
    }
}

// Counts the elements below the pivot in each of the parts of data.
inline void count(const double* data, std::size_t n, double pivot, std::size_t* below, std::size_t parts)
{
    if (parts == 1) {
        *below = static_cast<std::size_t>(std::count_if(data, data + n, [=](double x) { return x < pivot; }));
        return;
    }
    const std::size_t half = parts / 2, cut = half * part;
    Runtime::join([=] { count(data, cut, pivot, below, half); },
                  [=] { count(data + cut, n - cut, pivot, below + half, parts - half); });
}

// Copies the elements of data to the side where they belong.
inline void copy(const double* data, std::size_t n, double pivot, const std::size_t* below, std::size_t parts, double* low,
                 double* high)
{
    if (parts == 1) {
        for (std::size_t i = 0; i < n; ++i) *(data[i] < pivot ? low++ : high++) = data[i];
        return;
    }
    const std::size_t half = parts / 2, cut = half * part;
    const std::size_t lows = std::accumulate(below, below + half, std::size_t{0});
    Runtime::join([=] { copy(data, cut, pivot, below, half, low, high); },
                  [=] { copy(data + cut, n - cut, pivot, below + half, parts - half, low + lows, high + (cut - lows)); });
}

inline void sort(double* data, double* spare, std::size_t n, bool into_spare)
{
    if (n < part) {
        sort_serially(data, n);
        if (into_spare) std::copy(data, data + n, spare);
        return;
    }
    double pivot = ninther(data, n);
    const std::size_t parts = (n + part - 1) / part;
    std::vector<std::size_t> below(parts);
    count(data, n, pivot, below.data(), parts);
    std::size_t lows = std::accumulate(below.begin(), below.end(), std::size_t{0});
    const bool least = lows == 0;
    if (least) {
        pivot = std::nextafter(pivot, std::numeric_limits<double>::infinity());
        count(data, n, pivot, below.data(), parts);
        lows = std::accumulate(below.begin(), below.end(), std::size_t{0});
    }
    copy(data, n, pivot, below.data(), parts, spare, spare + lows);
    Runtime::join(
        [=] {
            if (!least)
                sort(spare, data, lows, !into_spare);
            else if (!into_spare)
                std::copy(spare, spare + lows, data);
        },
        [=] { sort(spare + lows, data + lows, n - lows, !into_spare); });
}

inline std::uint64_t fingerprint(const std::vector<double>& data)
{
    std::uint64_t sum = 0;
    for (const double x : data) {
        std::uint64_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        sum += random_number(bits);
    }
    return sum;
}

inline double run(Runtime& runtime, std::size_t n)
{
    std::vector<double> data(n), spare(n);
    for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<double>(random_number(i) >> 11) / 9007199254740992.0;
    const std::uint64_t before = fingerprint(data);
    const double seconds = timed(runtime, [&] { sort(data.data(), spare.data(), n, false); });
    require(std::is_sorted(data.begin(), data.end()) && fingerprint(data) == before, "quicksort: wrong result");
    return seconds;
}

} // namespace quicksort
