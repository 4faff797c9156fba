#include "cli/exit_code.h"

namespace row_store::cli {

ExitCode exit_code_of(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kOk:
      return ExitCode::kOk;
    case ErrorCode::kArgument:
      return ExitCode::kUsage;
    case ErrorCode::kIo:
    case ErrorCode::kNotFile:
    case ErrorCode::kMemory:
    case ErrorCode::kState:
    case ErrorCode::kUnsupported:
      return ExitCode::kCannotRun;
    default:
      return ExitCode::kFoundWrong;
  }
}

}  // namespace row_store::cli
