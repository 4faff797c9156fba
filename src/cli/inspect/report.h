// Parts of inspect's report that files and folders share.
#ifndef ROW_STORE_CLI_INSPECT_REPORT_H
#define ROW_STORE_CLI_INSPECT_REPORT_H

#include <cstdint>
#include <optional>
#include <string>

#include "cli/console.h"
#include "format/row_layout.h"
#include "format/source_identity.h"

namespace row_store::cli {

// "[1,000, 2,000)".
std::string rows_text(RowRange rows);

// Which table of which file: sizes, the header's digest and the two tensors.
Json source_document(const SourceIdentity& source);
std::string source_text(const SourceIdentity& source);

// Which rank's view to give, and where its shards would be.
struct RankView {
  std::optional<uint64_t> rank;
  std::optional<uint64_t> tp;
  std::string packed_dir;
};

ExitCode inspect_file(const std::string& path, Console& console);
ExitCode inspect_folder(const std::string& path, const RankView& view, Console& console);

}  // namespace row_store::cli

#endif  // ROW_STORE_CLI_INSPECT_REPORT_H
