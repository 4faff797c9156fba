#include "base/quiet_thread.h"

#include <signal.h>

#include <cerrno>

namespace row_store {

int start_quiet_thread(pthread_t* thread, size_t stack_bytes, void* (*body)(void*),
                       void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (thread == nullptr) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  size_t default_bytes = 0;
  pthread_attr_getstacksize(&attributes, &default_bytes);
  // The stack holds the thread-local variables of every library in the process as well.
  int error = pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t unjoined;
  pthread_t* const made = thread != nullptr ? thread : &unjoined;
  if (error == 0) error = pthread_create(made, &attributes, body, argument);
  if (error == EINVAL && pthread_attr_setstacksize(&attributes, default_bytes) == 0)
    error = pthread_create(made, &attributes, body, argument);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace row_store
