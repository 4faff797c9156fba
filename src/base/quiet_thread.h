// Threads of the library's own: small, and deaf to signals, so that the host's handlers run on the
// host's threads.
#ifndef ROW_STORE_BASE_QUIET_THREAD_H
#define ROW_STORE_BASE_QUIET_THREAD_H

#include <pthread.h>

#include <cstddef>

namespace row_store {

// Starts `body(argument)` with every signal blocked. 0, or pthread_create's error. With `thread`
// null nobody joins it. Where the process's thread-local variables leave too little of
// stack_bytes, the thread gets the system's default stack instead.
int start_quiet_thread(pthread_t* thread, size_t stack_bytes, void* (*body)(void*), void* argument);

}  // namespace row_store

#endif  // ROW_STORE_BASE_QUIET_THREAD_H
