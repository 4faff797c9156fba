// Runs a body in a forked child and reports how it ended and what it wrote to stderr: for calls
// that stop the process, and for what a call prints.
#ifndef ROW_STORE_TESTS_SUPPORT_CHILD_H
#define ROW_STORE_TESTS_SUPPORT_CHILD_H

#include <functional>
#include <string>

struct ChildResult {
  int exit_code = -1;  // when it exited
  int signal = 0;      // when a signal ended it
  std::string standard_error;

  bool aborted() const;
};

// The body's return value is the exit code; 99 stands for an exception.
ChildResult run_in_child(const std::function<int()>& body);

// Lines of a text.
int line_count(const std::string& text);
bool has(const std::string& text, const std::string& part);

#endif  // ROW_STORE_TESTS_SUPPORT_CHILD_H
