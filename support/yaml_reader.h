// Reads files of a fixed form: strict maps, words, numbers. Each error has its place, and reading
// goes on with a stand-in, so that all of them are found at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/yaml.h"

namespace assay::yaml {

using Names = std::vector<std::string>;

// Digits alone.
std::optional<int64_t> whole_number(std::string_view text);

struct Reader {
  const Document& doc;
  Diags diags = {};

  void fail(const Node& at, std::string message, std::string hint = "") {
    diags.push_back(error_at(doc, at, std::move(message), std::move(hint)));
  }
  void only_keys(const Node& map, const Names& known);
  const Node* need(const Node& map, std::string_view key);  // nullptr: said that it is missing
  // The file's first key, `schema: assay/.../1`.
  void schema(std::string_view expected);
  const std::vector<Node>& items(const Node& n);                          // of a list
  const std::vector<Node>& items(const Node& map, std::string_view key);  // empty: there is none
  std::string text_of(const Node& n);
  std::string text(const Node& map, std::string_view key);
  std::string text(const Node& map, std::string_view key, std::string otherwise);
  bool flag(const Node& map, std::string_view key);
  bool flag(const Node& map, std::string_view key, bool otherwise);
  Names words(const Node& map, std::string_view key);
  int word(const Node& map, std::string_view key, const Names& choices);  // its position
  int64_t number(const Node& n, int64_t most = INT64_MAX);                // from 1
  int64_t number(const Node& map, std::string_view key, int64_t otherwise);
};

}  // namespace assay::yaml
