// NumPy's default_rng(seed).integers(0, high, n), reproduced to the bit.
//
// The Engram multipliers of a checkpoint are not listed in its config.json: the model draws them
// with this generator. It is SeedSequence over the seed, PCG64 (XSL-RR 128/64), and Lemire's
// bounded draw; ranges of up to 32 bits take NumPy's 32-bit path, which consumes half words. Not a
// general random source. Pure functions, safe from any thread.
#ifndef ROW_STORE_ENGRAM_NUMPY_DRAW_H
#define ROW_STORE_ENGRAM_NUMPY_DRAW_H

#include <cstdint>
#include <span>

namespace row_store {

// Fills out with values in [0, high). high is 1..2^63 (NumPy's int64 limit).
void numpy_integers(uint64_t seed, uint64_t high, std::span<uint64_t> out);

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_NUMPY_DRAW_H
