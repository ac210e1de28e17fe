// Estimates as JSON and back: `estimate.json` of a bundle, and output of `--format json`.
#pragma once

#include <nlohmann/json.hpp>

#include "model/estimate.h"
#include "support/result.h"

namespace assay::toolkit {

using Json = nlohmann::ordered_json;

Json to_json(const model::Estimate& estimate);

// Errors: a missing or wrong member, named.
Result<model::Estimate> estimate_from_json(const Json& json);

// Errors: not JSON, with the byte where reading stopped.
Result<Json> parse_json(const std::string& text, const std::string& file);

}  // namespace assay::toolkit
