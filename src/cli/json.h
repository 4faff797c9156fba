// The JSON of --json: objects keep the order in which their members were added.
#ifndef ROW_STORE_CLI_JSON_H
#define ROW_STORE_CLI_JSON_H

#include <nlohmann/json_fwd.hpp>

namespace row_store::cli {

using Json = nlohmann::ordered_json;

}  // namespace row_store::cli

#endif  // ROW_STORE_CLI_JSON_H
