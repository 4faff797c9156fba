// A folder that disappears with its object. On a real file system (ROW_STORE_TEST_DIR, else the
// working folder), since /tmp may be a tmpfs without direct reads.
#ifndef ROW_STORE_TESTS_SUPPORT_TEMP_DIR_H
#define ROW_STORE_TESTS_SUPPORT_TEMP_DIR_H

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

class TempDir {
 public:
  TempDir() {
    const char* base = std::getenv("ROW_STORE_TEST_DIR");
    std::string name = std::string(base != nullptr ? base : ".") + "/row_store_test.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = std::filesystem::absolute(name).string();
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

#endif  // ROW_STORE_TESTS_SUPPORT_TEMP_DIR_H
