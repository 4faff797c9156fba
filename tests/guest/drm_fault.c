/* Makes DRM calls of a process fail, for errors that the guest's drivers never give: LD_PRELOAD it.
 *
 *   DRM_FAULT=create:ENOSYS           nvidia-drm loaded with modeset=0
 *   DRM_FAULT=create:ENOMEM           reservation too small or taken
 *   DRM_FAULT=map:E  mmap:E  cap:E    the other steps, with any errno below
 *   DRM_FAULT=cap0                    the driver says that it has no dumb buffers
 *   DRM_FAULT=size                    the driver makes a buffer that is one page short
 * Several rules are separated by commas.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <drm.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int error_number(const char* name) {
  static const struct {
    const char* name;
    int number;
  } known[] = {{"ENOSYS", ENOSYS},         {"ENOMEM", ENOMEM}, {"EINVAL", EINVAL},
               {"EACCES", EACCES},         {"EPERM", EPERM},   {"ENOSPC", ENOSPC},
               {"EOPNOTSUPP", EOPNOTSUPP}, {"ENODEV", ENODEV}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (strncmp(known[i].name, name, strlen(known[i].name)) == 0) return known[i].number;
  return EIO;
}

/* What follows `key` in one of the rules, or NULL. */
static const char* rule(const char* key) {
  const char* at = getenv("DRM_FAULT");
  while (at != NULL && *at != '\0') {
    if (strncmp(at, key, strlen(key)) == 0) return at + strlen(key);
    at = strchr(at, ',');
    if (at != NULL) ++at;
  }
  return NULL;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) {
  int (*real)(int, unsigned long, ...);
  *(void**)&real = dlsym(RTLD_NEXT, "ioctl");
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);

  const char* error = NULL;
  if (request == DRM_IOCTL_MODE_CREATE_DUMB) error = rule("create:");
  if (request == DRM_IOCTL_MODE_MAP_DUMB) error = rule("map:");
  if (request == DRM_IOCTL_GET_CAP) error = rule("cap:");
  if (error != NULL) {
    errno = error_number(error);
    return -1;
  }
  const int result = real(fd, request, argument);
  if (request == DRM_IOCTL_GET_CAP && rule("cap0") != NULL) {
    ((struct drm_get_cap*)argument)->value = 0;
    return 0;
  }
  if (result == 0 && request == DRM_IOCTL_MODE_CREATE_DUMB && rule("size") != NULL)
    ((struct drm_mode_create_dumb*)argument)->size -= 4096;
  return result;
}

static int is_drm(int fd) {
  struct stat status;
  return fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
         major(status.st_rdev) == 226;
}

__attribute__((visibility("default"))) void* mmap(void* at, size_t bytes, int protection, int flags,
                                                  int fd, off_t offset) {
  void* (*real)(void*, size_t, int, int, int, off_t);
  *(void**)&real = dlsym(RTLD_NEXT, "mmap");
  const char* error = rule("mmap:");
  if (error != NULL && is_drm(fd)) {
    errno = error_number(error);
    return MAP_FAILED;
  }
  return real(at, bytes, protection, flags, fd, offset);
}

__attribute__((visibility("default"))) void* mmap64(void* at, size_t bytes, int protection,
                                                    int flags, int fd, off_t offset) {
  return mmap(at, bytes, protection, flags, fd, offset);
}
