// Every environment variable the library reads, parsed strictly, once into plain values.
//
// A value that is not what docs/settings.md allows keeps the default and is named in one line,
// once a process and variable.
#ifndef ROW_STORE_BASE_OPTIONS_H
#define ROW_STORE_BASE_OPTIONS_H

#include <cstdint>

namespace row_store {

enum class EngineChoice { kAuto, kUring, kAio, kPool, kBuffered };
enum class PrefetchChoice { kAuto, kOff, kOn };

// Read at the first use in the process.
struct ProcessOptions {
  uint32_t io_threads = 32;  // DSV41_IO_THREADS, the calling thread included; 1 to 256
  uint32_t io_depth = 128;   // DSV41_IO_DEPTH, reads in flight of one lookup; 1 to 512
};
const ProcessOptions& process_options();

// Read by each open (resident_scales by each range).
struct StoreOptions {
  unsigned cache_ways = 12;                         // DSV41_CACHE_WAYS
  bool resident_scales = true;                      // DSV41_RESIDENT_SCALES
  bool ram = false;                                 // OFFLOAD_MODE=ram
  bool strict = false;                              // DSV41_STRICT
  bool zero_negative_ids = false;                   // DSV41_NEGATIVE_IDS=zero
  bool huge_pages = true;                           // DSV41_HUGE_PAGES
  EngineChoice engine = EngineChoice::kAuto;        // DSV41_IO_ENGINE
  PrefetchChoice prefetch = PrefetchChoice::kAuto;  // DSV41_PREFETCH
};
StoreOptions read_store_options();
bool read_resident_scales_option();

}  // namespace row_store

#endif  // ROW_STORE_BASE_OPTIONS_H
