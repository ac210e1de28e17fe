// Reads dialect and instruction files: what support/yaml_reader reads, and templates. Internal to
// codegen.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/template.h"
#include "support/yaml_reader.h"

namespace assay::codegen {

using yaml::Names;

struct YamlReader : yaml::Reader {
  // A template with no other holes than `holes`.
  Template spelling(const yaml::Node& n, std::span<const std::string_view> holes);
  Template spelling(const yaml::Node& map, std::string_view key,
                    std::span<const std::string_view> holes);
};

}  // namespace assay::codegen
