// Reads the fields of a YAML tree and collects all faults with their places: unknown keys with the
// nearest known one, missing keys, bad numbers, faults inside expression strings.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "ir/text_scanner.h"
#include "support/yaml.h"

namespace assay::ir {

class TextReader {  // invariant: diags() holds errors only
 public:
  explicit TextReader(const yaml::Document& doc) : doc_(doc) {}

  Diags& diags() { return diags_; }
  bool ok() const { return diags_.empty(); }

  void fault(const yaml::Node& at, std::string message, std::string hint = "");
  void fault(const yaml::Node& scalar, const TextFault& fault);  // at a place inside the scalar

  // Whether `node` is a map; its keys must be among `known`.
  bool is_map(const yaml::Node& node, std::string_view what,
              std::initializer_list<std::string_view> known);
  bool is_map(const yaml::Node& node, std::string_view what);
  bool is_list(const yaml::Node& node, std::string_view what);

  const yaml::Node* need(const yaml::Node& map, std::string_view key);  // nullptr: reported

  std::optional<std::string> text(const yaml::Node& node);
  std::optional<int64_t> integer(const yaml::Node& node, int64_t low, int64_t high);
  std::optional<bool> flag(const yaml::Node& node);

  // Entries of a map; `otherwise` when the key is absent or wrong (the latter reported).
  std::string text_or(const yaml::Node& map, std::string_view key, std::string otherwise);
  int64_t integer_or(const yaml::Node& map, std::string_view key, int64_t low, int64_t high,
                     int64_t otherwise);
  bool flag_or(const yaml::Node& map, std::string_view key, bool otherwise);

  // parse(scanner) over a scalar; nullopt when it faults (reported) or does not read all of it.
  template <class F>
  auto expression(const yaml::Node& node, F parse)
      -> std::optional<decltype(parse(std::declval<Scanner&>()))> {
    const std::optional<std::string> string = text(node);
    if (!string) return std::nullopt;
    Scanner scanner(*string);
    try {
      auto value = parse(scanner);
      scanner.expect_end();
      return value;
    } catch (const TextFault& f) {
      fault(node, f);
      return std::nullopt;
    }
  }

  // Whether the document's `schema` is the expected one.
  // `older`: another one that is read as well.
  bool has_schema(std::string_view schema, std::string_view older = "");

 private:
  const yaml::Document& doc_;
  Diags diags_;
};

}  // namespace assay::ir
