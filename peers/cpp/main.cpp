// Runs a program once on the runtime that it is built for: peers-RUNTIME PROGRAM N THREADS
// WARM_UP_N. A small run comes first, which starts the threads; then the run whose seconds are
// printed.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "program/fib.hpp"
#include "program/heat.hpp"
#include "program/matmul.hpp"
#include "program/nqueens.hpp"
#include "program/quicksort.hpp"
#include "program/rrm.hpp"
#include "program/skynet.hpp"
#include "program/spawn.hpp"

namespace {

// Rounds of a leaf of about 100 ns, as in src/program/fib.rs.
constexpr unsigned rounds_of_100_ns = 50;

double run(const std::string& program, Runtime& runtime, std::size_t n)
{
    // These runtimes take no sizes, and have one way to fork, so it is the same program.
    if (program == "fib" || program == "fib-sized" || program == "fib-task") return fib::run<0>(runtime, n);
    if (program == "fib-100ns") return fib::run<rounds_of_100_ns>(runtime, n);
    if (program == "skynet") return skynet::run(runtime, n);
    if (program == "spawn") return spawn::run(runtime, n);
    if (program == "nqueens") return nqueens::run(runtime, n);
    if (program == "matmul") return matmul::run(runtime, n);
    if (program == "rrm") return rrm::run(runtime, n);
    if (program == "quicksort") return quicksort::run(runtime, n);
    if (program == "heat") return heat::run(runtime, n);
    throw std::runtime_error("unknown program '" + program + "'");
}

// In the words of the programs in Rust; another command line helps.
int no_memory(const char* n)
{
    std::fprintf(stderr, "there is not enough memory for n = %s; give a smaller --n\n", n);
    return 2;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s PROGRAM N THREADS WARM_UP_N\n", argv[0]);
        return 2;
    }
    try {
        const auto number = [argv](int i) { return static_cast<std::size_t>(std::stoull(argv[i])); };
        Runtime runtime(number(3));
        run(argv[1], runtime, number(4));
        std::printf("%.9f\n", run(argv[1], runtime, number(2)));
    } catch (const std::bad_alloc&) {
        return no_memory(argv[2]);
    } catch (const std::length_error&) {
        return no_memory(argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
