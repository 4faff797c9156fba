// libFuzzer's entry for one body, named by the build as ROW_STORE_FUZZ_BODY.
#include "fuzz_bodies.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  row_store::fuzz::ROW_STORE_FUZZ_BODY({data, bytes});
  return 0;
}
