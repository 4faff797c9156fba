#include "base/status.h"

namespace row_store {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk:
      return "ok";
    case ErrorCode::kArgument:
      return "argument";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kNotFile:
      return "not_file";
    case ErrorCode::kShort:
      return "short";
    case ErrorCode::kHeaderLength:
      return "header_length";
    case ErrorCode::kUtf8:
      return "utf8";
    case ErrorCode::kJson:
      return "json";
    case ErrorCode::kSchema:
      return "schema";
    case ErrorCode::kDuplicate:
      return "duplicate";
    case ErrorCode::kDtype:
      return "dtype";
    case ErrorCode::kOverflow:
      return "overflow";
    case ErrorCode::kShape:
      return "shape";
    case ErrorCode::kLayout:
      return "layout";
    case ErrorCode::kSize:
      return "size";
    case ErrorCode::kMissing:
      return "missing";
    case ErrorCode::kMismatch:
      return "mismatch";
    case ErrorCode::kMemory:
      return "memory";
    case ErrorCode::kState:
      return "state";
    case ErrorCode::kChecksum:
      return "checksum";
    case ErrorCode::kUnsupported:
      return "unsupported";
  }
  return "unknown";
}

Status with_path(const std::string& path, const Status& status) {
  return {status.code(), status.sys_errno(), path + ": " + status.text()};
}

}  // namespace row_store
