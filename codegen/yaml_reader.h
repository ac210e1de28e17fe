// Reads dialect and instruction files: strict maps, words, numbers and templates. Each error has
// its place. Internal to codegen.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/template.h"
#include "support/yaml.h"

namespace assay::codegen {

using Names = std::vector<std::string>;

std::optional<int> parse_number(std::string_view text);

struct YamlReader {
  const yaml::Document& doc;
  Diags diags;

  void fail(const yaml::Node& at, std::string message, std::string hint = "") {
    diags.push_back(error_at(doc, at, std::move(message), std::move(hint)));
  }
  void only_keys(const yaml::Node& map, const Names& known);
  const yaml::Node* need(const yaml::Node& map, std::string_view key);
  std::string text_of(const yaml::Node& n);
  std::string text(const yaml::Node& map, std::string_view key);
  bool flag(const yaml::Node& map, std::string_view key);
  Names words(const yaml::Node& map, std::string_view key);
  int word(const yaml::Node& map, std::string_view key, const Names& choices);
  int number(const yaml::Node& n, int most);  // from 1
  // A template with no other holes than `holes`.
  Template spelling(const yaml::Node& n, std::span<const std::string_view> holes);
  Template spelling(const yaml::Node& map, std::string_view key,
                    std::span<const std::string_view> holes);
};

}  // namespace assay::codegen
