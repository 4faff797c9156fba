// What a user reads when an open or an attach is refused: one test a class of message.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/stderr_capture.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 2003;
using Words = std::vector<std::string>;

// All that a refused call leaves behind.
struct Refusal {
  bool refused = false;
  int code = 0;
  int error = 0;
  std::string text;
  std::string printed;
};

template <typename Call>
Refusal refusal_of(Call call) {
  Refusal refusal;
  StderrCapture capture;
  errno = 0;
  refusal.refused = !call();
  refusal.error = errno;
  capture.stop();
  refusal.printed = capture.text();
  char text[1024] = "";
  refusal.code = row_store_last_error(text, sizeof text);
  refusal.text = text;
  return refusal;
}

// The rules of every refusal, then what this one should say.
void check(const Refusal& refusal, const std::string& call, const std::string& name, int error,
           const Words& words) {
  INFO(refusal.printed);
  CHECK(refusal.refused);
  CHECK(row_store_error_name(refusal.code) == name);
  CHECK(refusal.error == error);
  CHECK(line_count(refusal.printed) == 1);
  CHECK(refusal.printed.find("Engram: " + call + ": " + refusal.text) == 0);
  CHECK(refusal.printed.find("[" + name + "]\n") != std::string::npos);
  for (const std::string& word : words) {
    INFO("expected: " << word);
    CHECK(refusal.text.find(word) != std::string::npos);
  }
}

Refusal open_refusal(const std::string& path, uint64_t rows, uint64_t weights, uint64_t scales,
                     uint64_t budget = 0) {
  return refusal_of(
      [&] { return row_store_open(path.c_str(), rows, weights, scales, budget) != nullptr; });
}

void check_open(const std::string& path, const std::string& name, int error, Words words) {
  words.push_back(path.substr(0, 40));
  check(open_refusal(path, 4, 200, 1224), "row_store_open", name, error, words);
}

std::string file_with(const TempDir& dir, const std::string& name, const std::string& bytes,
                      uint64_t size = 0) {
  const std::string path = dir.file(name);
  std::ofstream(path, std::ios::binary) << bytes;
  if (size != 0) REQUIRE(::truncate(path.c_str(), static_cast<off_t>(size)) == 0);
  return path;
}

std::string number(uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), 8); }

// A checkpoint of 4 rows with this header; data_bytes of zeros behind it.
std::string checkpoint_with(const TempDir& dir, const std::string& header,
                            uint64_t data_bytes = 4 * 264) {
  return file_with(dir, "header", number(header.size()) + header, 8 + header.size() + data_bytes);
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"layers.1.engram.embed." + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}
std::string weight(const std::string& dtype = "F8_E4M3", const std::string& shape = "[4,256]",
                   const std::string& offsets = "[0,1024]") {
  return tensor("weight", dtype, shape, offsets);
}
std::string scale(const std::string& dtype = "F8_E8M0", const std::string& shape = "[4,8]",
                  const std::string& offsets = "[1024,1056]") {
  return tensor("scale", dtype, shape, offsets);
}

// Opens a 4-row checkpoint whose header is wrong in one way.
void check_header(const std::string& header, const std::string& name, const Words& words,
                  uint64_t data_bytes = 4 * 264) {
  const TempDir dir;
  const std::string path = checkpoint_with(dir, header, data_bytes);
  const uint64_t data = 8 + header.size();
  check(open_refusal(path, 4, data, data + 1024), "row_store_open", name, EINVAL, words);
}

}  // namespace

TEST_CASE("no path", "[errors]") {
  check(refusal_of([] { return row_store_open(nullptr, 1, 0, 0, 0) != nullptr; }), "row_store_open",
        "argument", EINVAL, {"path is NULL or empty"});
  check(open_refusal("", 1, 0, 0), "row_store_open", "argument", EINVAL, {"path"});
}

TEST_CASE("a file that is not there", "[errors]") {
  const TempDir dir;
  check_open(dir.file("none"), "io", ENOENT, {dir.file("none"), "No such file", "check the path"});
  REQUIRE(::symlink(dir.file("none").c_str(), dir.file("dangling").c_str()) == 0);
  check_open(dir.file("dangling"), "io", ENOENT, {dir.file("dangling"), "No such file"});
  file_with(dir, "file", "x");
  check_open(dir.file("file") + "/below", "io", ENOTDIR, {"Not a directory"});
}

TEST_CASE("a path that leads nowhere", "[errors]") {
  const TempDir dir;
  REQUIRE(::symlink("loop", dir.file("loop").c_str()) == 0);
  check_open(dir.file("loop"), "io", ELOOP, {"symbolic links"});
  // The cause must not fall victim to the length of the path.
  check_open(dir.file(std::string(5000, 'x')), "io", ENAMETOOLONG, {"File name too long", "check"});
  std::string deep = dir.path();
  for (int i = 0; i < 600; ++i) deep += "/./././.";
  check_open(deep + "/none", "io", ENAMETOOLONG, {"too long"});
}

TEST_CASE("a path with a line break still gives one line", "[errors]") {
  const TempDir dir;
  const Refusal refusal = open_refusal(dir.file("two\nlines"), 4, 0, 1024);
  CHECK(refusal.refused);
  CHECK(line_count(refusal.printed) == 1);
  CHECK(refusal.printed.find("No such file") != std::string::npos);
}

TEST_CASE("something that is no file, and never blocks", "[errors]") {
  const TempDir dir;
  REQUIRE(::mkfifo(dir.file("fifo").c_str(), 0600) == 0);
  ::alarm(30);  // an open that waits for a writer would wait for ever
  check_open(dir.file("fifo"), "not_file", EINVAL, {"not a regular file", ".safetensors"});
  ::alarm(0);
  check_open(dir.path(), "not_file", EISDIR, {"not a regular file"});
  check_open("/dev/zero", "not_file", EINVAL, {"not a regular file"});
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (dir.file("s").size() >= sizeof address.sun_path) return;
  std::strcpy(address.sun_path, dir.file("s").c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  check_open(dir.file("s"), "io", ENXIO, {"cannot open"});
  ::close(fd);
}

TEST_CASE("a file that may not be read", "[errors]") {
  const TempDir dir;
  const std::string path = file_with(dir, "secret", "x", 8192);
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  const ChildResult child = run_in_child([&] {
    // Root may read anything; nobody may not.
    if (::getuid() == 0 && ::setuid(65534) != 0) return 77;
    if (row_store_open(path.c_str(), 4, 200, 1224, 0) != nullptr) return 1;
    if (errno != EACCES) return 2;
    return row_store_last_error(nullptr, 0) == 2 ? 0 : 3;
  });
  INFO(child.standard_error);
  CHECK(child.exit_code == 0);
  CHECK(line_count(child.standard_error) == 1);
  CHECK(child.standard_error.find("Permission denied; check the path, the mount and the process's "
                                  "permissions") != std::string::npos);
}

TEST_CASE("a Git LFS pointer, a web page and other wrong downloads are told apart", "[errors]") {
  const TempDir dir;
  check_open(file_with(dir, "lfs",
                       "version https://git-lfs.github.com/spec/v1\noid sha256:" +
                           std::string(64, 'a') + "\nsize 98305579688\n"),
             "header_length", EINVAL, {"Git LFS pointer", "git lfs pull"});
  check_open(file_with(dir, "page", "<!DOCTYPE html><html><body>Sign in</body></html>", 70'000),
             "header_length", EINVAL, {"HTML page", "fetch the file again"});
  check_open(file_with(dir, "zeros", std::string(16, '\0'), 70'000), "header_length", EINVAL,
             {"begins with zeros", "fetch it again"});
  check_open(file_with(dir, "gguf", "GGUF" + std::string(8, '\3'), 70'000), "header_length", EINVAL,
             {"GGUF"});
  check_open(file_with(dir, "zip", "PK\x03\x04" + std::string(8, '\3'), 70'000), "header_length",
             EINVAL, {"zip archive"});
  check_open(file_with(dir, "json", "{\"weight_map\": {}}", 70'000), "header_length", EINVAL,
             {"JSON text", ".safetensors"});
  const TestTable table = TestTable::raw(dir.file("raw"), 40);
  table.write_packed(dir.file("packed"), row_store::PackedLayout::kDense, 1, 0, 40);
  check_open(dir.file("packed"), "header_length", EINVAL, {"packed shard", "attached"});
}

TEST_CASE("a truncated download", "[errors]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  struct stat info;
  REQUIRE(::stat(table.path.c_str(), &info) == 0);
  for (const off_t cut : {off_t{1}, off_t{4096}, info.st_size / 2}) {
    REQUIRE(::truncate(table.path.c_str(), info.st_size - cut) == 0);
    check(refusal_of([&] { return table.open(0) != nullptr; }), "row_store_open", "size", EINVAL,
          {table.path, std::to_string(info.st_size), std::to_string(info.st_size - cut)});
  }
  REQUIRE(::truncate(table.path.c_str(), 100) == 0);  // not even the header
  check(refusal_of([&] { return table.open(0) != nullptr; }), "row_store_open", "header_length",
        EINVAL, {table.path});
  REQUIRE(::truncate(table.path.c_str(), 0) == 0);
  check(refusal_of([&] { return table.open(0) != nullptr; }), "row_store_open", "size", EINVAL,
        {table.path, "the file has 0", "truncated"});
}

TEST_CASE("a header that breaks a rule is refused with that rule", "[errors]") {
  check_header("{\"\xFF\":1," + weight() + "," + scale() + "}", "utf8", {"UTF-8"});
  check_header("{" + weight() + "," + scale() + ",}", "json", {"JSON"});
  check_header("{" + weight() + "," + scale() + ",\"x\":5}", "schema", {"x"});
  check_header("{" + weight() + "," + scale() + "," + scale() + "}", "duplicate", {"scale"});
  check_header("{" + weight("F8_E4M3", "[4294967296,4294967296,4294967296]") + "," + scale() + "}",
               "overflow", {"weight"});
  check_header("{" + weight() + "," + scale("F8_E8M0", "[4,8]", "[1025,1057]") + "}", "layout",
               {"scale"}, 4 * 264 + 1);
  check_header("{" + weight() + "," + scale() + "}", "size", {}, 4 * 264 - 1);
  check_header("{" + weight() + "," + scale() + "}", "size", {}, 4 * 264 + 1);
  check_header("{" + tensor("other", "F32", "[264]", "[0,1056]") + "}", "missing",
               {"no Engram", "index"});
}

TEST_CASE("tensors of another type or shape", "[errors]") {
  check_header("{" + weight("F8_E5M2") + "," + scale() + "}", "dtype",
               {"F8_E5M2", "expected F8_E4M3"});
  check_header("{" + weight() + "," + scale("U8") + "}", "dtype", {"U8", "expected F8_E8M0"});
  check_header("{" + weight("F8_E4M3", "[8,128]") + "," + scale() + "}", "shape",
               {"[8, 128]", "expected [rows, 256]"});
  check_header("{" + weight() + "," + scale("F8_E8M0", "[2,16]") + "}", "shape", {"[2, 16]"});
  check_header("{" + weight() + "," + scale("F8_E8M0", "[32]") + "}", "shape", {"[32]"});
}

TEST_CASE("rows or offsets that are not the file's", "[errors]") {
  const TempDir dir;
  const TestTable t = TestTable::checkpoint(dir.file("t"), kRows);
  const auto refused = [&](uint64_t rows, uint64_t weights, uint64_t scales, const char* name,
                           const Words& words) {
    check(open_refusal(t.path, rows, weights, scales), "row_store_open", name, EINVAL, words);
  };
  const uint64_t w = t.weight_offset, s = t.scale_offset;
  for (const uint64_t rows : {kRows - 1, kRows + 1})
    refused(rows, w, s, "argument", {t.path, std::to_string(rows), "[2003, 256]"});
  for (const uint64_t off : {w - 1, w + 1, w + 8, w + 256, ~uint64_t{0}})
    refused(kRows, off, s, "argument", {t.path, "weight offset " + std::to_string(off)});
  for (const uint64_t off : {s - 8, s + 1, s + 8})
    refused(kRows, w, off, "argument", {t.path, "scale offset " + std::to_string(off)});
  refused(kRows, s, w, "argument", {t.path, "swapped"});
  for (const uint64_t rows : {uint64_t{0}, uint64_t{1} << 63, ~uint64_t{0}})
    refused(rows, w, s, "argument", {t.path, "rows is " + std::to_string(rows)});
}

TEST_CASE("extents of a raw file that do not fit or wrap", "[errors]") {
  const TempDir dir;
  const TestTable t = TestTable::raw(dir.file("raw"), 100);
  const uint64_t w = t.weight_offset, s = t.scale_offset;
  const auto refused = [&](uint64_t rows, uint64_t weights, uint64_t scales, const char* name,
                           const Words& words) {
    check(open_refusal(t.path, rows, weights, scales), "row_store_open", name, EINVAL, words);
  };
  refused(100, w, s + 1, "size", {t.path, "scales of 100 rows", "the file has"});
  refused(101, w, s, "size", {t.path, "of 101 rows"});
  refused(100, s, s, "size", {t.path, "weights of 100 rows"});
  for (const uint64_t far : {~uint64_t{0}, ~uint64_t{0} - 25'599})
    refused(100, far, s, "overflow", {t.path, "exceed 2^64", "check rows and offsets"});
  refused(uint64_t{1} << 60, w, s, "overflow", {t.path, "exceed 2^64"});
  refused(~uint64_t{0} / 256 / 2, w, s, "size", {t.path, "the file has"});
}

TEST_CASE("a budget that cannot be had", "[errors]") {
  const TempDir dir;
  for (const bool raw : {false, true}) {
    const TestTable t =
        raw ? TestTable::raw(dir.file("raw"), 100) : TestTable::checkpoint(dir.file("t"), 100);
    for (const uint64_t budget : {uint64_t{1} << 63, ~uint64_t{0}, uint64_t{1} << 60}) {
      check(refusal_of([&] { return t.open(budget) != nullptr; }), "row_store_open", "memory",
            ENOMEM, {t.path, "cannot reserve", "bytes of memory", "lower DSV41_CACHE_GIB"});
    }
  }
}

TEST_CASE("a success clears the error and prints nothing", "[errors]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  (void)open_refusal("", 1, 0, 0);
  CHECK(row_store_last_error(nullptr, 0) == 1);
  row_store_t* store = nullptr;
  const Refusal none = refusal_of([&] { return (store = table.open(100'000)) != nullptr; });
  CHECK_FALSE(none.refused);
  CHECK(none.code == 0);
  CHECK(none.text.empty());
  CHECK(none.printed.empty());
  row_store_close(store);
}

TEST_CASE("the text of the last error is cut to the caller's buffer", "[errors]") {
  (void)open_refusal("", 1, 0, 0);
  char whole[1024], cut[9];
  std::memset(cut, 0x5C, sizeof cut);
  REQUIRE(row_store_last_error(whole, sizeof whole) == 1);
  CHECK(row_store_last_error(cut, 6) == 1);
  CHECK(std::string(cut) == std::string(whole).substr(0, 5));
  CHECK(cut[6] == 0x5C);
  CHECK(row_store_last_error(cut, 1) == 1);
  CHECK(cut[0] == '\0');
  CHECK(row_store_last_error(nullptr, 0) == 1);
  CHECK(row_store_last_error(cut, 0) == 1);
}

TEST_CASE("every code has a name and strangers are unknown", "[errors]") {
  std::vector<std::string> names;
  for (int code = 0; code <= 20; ++code) {
    names.emplace_back(row_store_error_name(code));
    CHECK(names.back() != "unknown");
    for (int other = 0; other < code; ++other)
      CHECK(names[static_cast<size_t>(other)] != names.back());
  }
  for (const int code : {-1, 21, 1 << 30})
    CHECK(std::string(row_store_error_name(code)) == "unknown");
}
