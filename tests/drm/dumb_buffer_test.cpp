// Each step of making a pool can fail; what came before it is given back, and the text says what to
// do.
#include "drm/dumb_buffer.h"

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "drm/fake_calls.h"
#include "support/catch.h"
#include "support/child.h"

using row_store::DumbBuffer;
using row_store::kDumbUnitBytes;
using row_store::Result;

namespace {

constexpr const char* kNode = "/dev/dri/card7";

struct Failure {
  const char* name;
  std::function<void(FakeCalls&)> arrange;
  std::vector<const char*> text;  // parts of the message
};

std::function<void(FakeCalls&)> step_gives(const char* step, int error) {
  return [=](FakeCalls& calls) { calls.fail[step] = error; };
}

const Failure kFailures[] = {
    {"no node",
     step_gives("open", ENOENT),
     {"open /dev/dri/card7", "(errno 2)", "modeset=1 fbdev=0", "--device"}},
    {"no permission", step_gives("open", EACCES), {"open", "(errno 13)", "group (video)"}},
    {"a folder", step_gives("open", EISDIR), {"open", "(errno 21)", "/dev/dri/card0"}},
    {"fstat", step_gives("fstat", EIO), {"fstat", "(errno 5)"}},
    {"a regular file",
     [](FakeCalls& calls) {
       calls.identity = {false, 0};
     },
     {"not a character device", "/dev/dri/card0"}},
    {"another device",
     [](FakeCalls& calls) {
       calls.identity = {true, 1};
     },
     {"not a DRM device: major number 1", "/dev/dri/card0"}},
    {"a driver that says no",
     [](FakeCalls& calls) { calls.capability = 0; },
     {"dumb-buffer capability", "modeset=1 fbdev=0", "headless"}},
    {"modeset=0", step_gives("create", ENOSYS), {"CREATE_DUMB", "(errno 38)", "modeset=1 fbdev=0"}},
    {"reservation taken",
     step_gives("create", ENOMEM),
     {"CREATE_DUMB of 16777216 bytes", "(errno 12)", "headless, fbdev=0", "no other pool"}},
    {"no space", step_gives("create", ENOSPC), {"CREATE_DUMB", "(errno 28)", "fewer bytes"}},
    {"a render node",
     step_gives("create", EACCES),
     {"CREATE_DUMB", "(errno 13)", "not a render node"}},
    {"another create error", step_gives("create", EIO), {"CREATE_DUMB", "(errno 5)", "docs/"}},
    {"a smaller buffer",
     [](FakeCalls& calls) { calls.bytes_short = 4096; },
     {"16777216 bytes asked for, the driver made 16773120"}},
    {"MAP_DUMB", step_gives("map_offset", ENOMEM), {"MAP_DUMB", "(errno 12)", "fewer bytes"}},
    {"mmap", step_gives("map", ENOMEM), {"mmap", "(errno 12)", "fewer bytes"}},
    {"madvise", step_gives("keep_from_children", EINVAL), {"madvise", "(errno 22)"}},
    {"a page that cannot be had",
     [](FakeCalls& calls) { calls.pages_there = 99; },
     {"first write", "only 99 pages", "(errno 14)", "fewer bytes"}},
};

}  // namespace

TEST_CASE("a pool is one dumb buffer of lines of 16,384 bytes, every page of it there", "[drm]") {
  FakeCalls calls;
  {
    const Result<DumbBuffer> buffer = DumbBuffer::create(calls, kNode, 3 * kDumbUnitBytes);
    REQUIRE(buffer.ok());
    CHECK(calls.opened_node == kNode);
    CHECK(calls.geometry.width_pixels == 4096);
    CHECK(calls.geometry.bits_per_pixel == 32);
    CHECK(calls.geometry.height_lines == 3 * 1024);
    CHECK(buffer.value().bytes() == 3 * kDumbUnitBytes);
    CHECK(buffer.value().driver() == "fakedrm");
    CHECK(calls.kept_from_children);
    CHECK(calls.touched_bytes == 3 * kDumbUnitBytes);
  }
  CHECK(calls.nothing_held());
}

TEST_CASE("the node and the handle are given back as soon as the buffer is mapped", "[drm]") {
  FakeCalls calls;
  const Result<DumbBuffer> buffer = DumbBuffer::create(calls, kNode, kDumbUnitBytes);
  REQUIRE(buffer.ok());
  CHECK(calls.nodes.empty());
  CHECK(calls.handles.empty());
  CHECK(calls.mappings.size() == 1);
}

TEST_CASE("every step that fails gives back all before it and says what to do", "[drm]") {
  for (const Failure& failure : kFailures) {
    INFO(failure.name);
    FakeCalls calls;
    failure.arrange(calls);
    const Result<DumbBuffer> buffer = DumbBuffer::create(calls, kNode, kDumbUnitBytes);
    REQUIRE_FALSE(buffer.ok());
    const std::string& text = buffer.status().text();
    INFO(text);
    CHECK(calls.nothing_held());
    CHECK(has(text, kNode));
    CHECK_FALSE(has(text, "\n"));
    for (const char* part : failure.text) {
      INFO(part);
      CHECK(has(text, part));
    }
  }
}

TEST_CASE("no ioctl is sent before the device is known to be DRM's", "[drm]") {
  for (const row_store::DeviceIdentity& other :
       {row_store::DeviceIdentity{false, 0}, row_store::DeviceIdentity{false, 226},
        row_store::DeviceIdentity{true, 10}}) {
    FakeCalls calls;
    calls.identity = other;
    CHECK_FALSE(DumbBuffer::create(calls, kNode, kDumbUnitBytes).ok());
    CHECK(calls.ioctls == 0);
  }
}

TEST_CASE("a driver that cannot tell its capability is tried", "[drm]") {
  FakeCalls calls;
  calls.capability = 0;
  calls.fail["capability"] = EOPNOTSUPP;
  CHECK(DumbBuffer::create(calls, kNode, kDumbUnitBytes).ok());
}

TEST_CASE("a size that is no multiple of 16 MiB never opens the node", "[drm]") {
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{1}, kDumbUnitBytes - 1, kDumbUnitBytes + 4096, ~uint64_t{0}}) {
    FakeCalls calls;
    const Result<DumbBuffer> buffer = DumbBuffer::create(calls, kNode, bytes);
    REQUIRE_FALSE(buffer.ok());
    CHECK(has(buffer.status().text(), "multiple of 16 MiB"));
    CHECK(calls.opens == 0);
  }
}

TEST_CASE("a size whose lines exceed 32 bits is refused, not cut", "[drm]") {
  FakeCalls calls;
  const uint64_t bytes = (uint64_t{1} << 46) + kDumbUnitBytes;  // 2^32 lines and 1,024
  const Result<DumbBuffer> buffer = DumbBuffer::create(calls, kNode, bytes);
  REQUIRE_FALSE(buffer.ok());
  CHECK(calls.opens == 0);
}

TEST_CASE("a buffer that was moved from gives back nothing twice", "[drm]") {
  FakeCalls calls;
  {
    Result<DumbBuffer> made = DumbBuffer::create(calls, kNode, kDumbUnitBytes);
    DumbBuffer first = made.take();
    DumbBuffer second = std::move(first);
    CHECK(calls.mappings.count(second.data()) == 1);
    Result<DumbBuffer> other = DumbBuffer::create(calls, kNode, 2 * kDumbUnitBytes);
    second = other.take();
    CHECK(second.bytes() == 2 * kDumbUnitBytes);
  }
  CHECK(calls.nothing_held());
}
