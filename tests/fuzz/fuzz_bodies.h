// What each fuzz target does with one input. A body returns normally or stops the process: there is
// no third outcome, so that libFuzzer, a sanitizer and the replay of the corpus judge alike.
//
// Not the fuzzer itself: fuzz_main.cpp gives one body to libFuzzer, corpus_test.cpp gives every
// committed input to every body in an ordinary build.
#ifndef ROW_STORE_TESTS_FUZZ_FUZZ_BODIES_H
#define ROW_STORE_TESTS_FUZZ_FUZZ_BODIES_H

#include <cstdint>
#include <span>

namespace row_store::fuzz {

// The head of a safetensors file. 8 bytes: size of the data behind the header, or of the file;
// 1 byte: bit 0 set, the rest is the file's head as it is, else the rest is the JSON text alone;
// bits 1 to 7, how many bytes of the end the caller did not read.
void safetensors_head(std::span<const uint8_t> input);

// A packed shard's header against a store. 5 words: file bytes, layer, first row, end row and table
// rows that the store expects; then the header, with zeros up to its 4096 bytes.
void packed_header(std::span<const uint8_t> input);

// Calls of the C ABI on up to three stores, whose rows must be those that pread gives. See the
// operations in lookup_body.cpp.
void lookups(std::span<const uint8_t> input);

}  // namespace row_store::fuzz

#endif  // ROW_STORE_TESTS_FUZZ_FUZZ_BODIES_H
