/* Compiled as C99 and C11, and through header.cpp as C++11 and C++20, with pedantic warnings as
 * errors: clients are not always built like us. Nothing but the public header may be included. */
#include "row_store.h"

int main(void) {
  void (*lookup)(void*) = row_store_lookup; /* what a CUDA host function launcher takes */
  row_store_work work;
  char text[8];
  work.store = 0;
  work.ids = 0;
  work.weights = 0;
  work.scales = 0;
  work.count = 0;
  if (!lookup || work.count != 0 || sizeof work != 40) return 1;
  if ((char*)&work.ids - (char*)&work != 8 || (char*)&work.weights - (char*)&work != 16) return 2;
  if ((char*)&work.scales - (char*)&work != 24 || (char*)&work.count - (char*)&work != 32) return 3;
  if (ROW_STORE_STAT_COUNT != 9) return 4;
  if (ROW_STORE_WEIGHT_BYTES + ROW_STORE_SCALE_BYTES != ROW_STORE_ROW_BYTES) return 5;
  if (row_store_open("no-such-file", 1, 0, 256, 0)) return 6;
  if (row_store_last_error(text, sizeof text) == 0) return 7;
  if (!row_store_error_name(row_store_last_error(0, 0))) return 8;
  row_store_close(0);
  return 0;
}
