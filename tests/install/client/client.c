/* A client that is not part of the project: all it has is the installed tree. */
#include <row_store.h>
#include <stdio.h>

int main(void) {
  char why[512];
  if (row_store_open("no-such-file", 1, 0, ROW_STORE_WEIGHT_BYTES, 0)) return 1;
  if (row_store_last_error(why, sizeof why) == 0) return 2;
  printf("refused as it should be: %s\n", why);
  return 0;
}
