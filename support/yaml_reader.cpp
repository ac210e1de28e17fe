#include "support/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "support/edit_distance.h"

namespace assay::yaml {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

void Reader::only_keys(const Node& map, const Names& known) {
  if (map.kind != Node::Kind::map) return fail(map, "expected a map");
  for (const Entry& e : map.entries) {
    if (std::find(known.begin(), known.end(), e.key) != known.end()) continue;
    const std::string near = nearest(e.key, known);
    diags.push_back(error_at(doc, e.line, e.col, fmt::format("unknown key '{}'", e.key),
                             near.empty() ? fmt::format("keys: {}", fmt::join(known, ", "))
                                          : fmt::format("did you mean '{}'?", near)));
  }
}

const Node* Reader::need(const Node& map, std::string_view key) {
  const Node* n = map.kind == Node::Kind::map ? map.find(key) : nullptr;
  if (n == nullptr) fail(map, fmt::format("'{}' is missing", key));
  return n;
}

void Reader::schema(std::string_view expected) {
  const Node* n = need(doc.root, "schema");
  if (n != nullptr && text_of(*n) != expected)
    fail(*n, fmt::format("schema '{}', expected {}", n->scalar, expected));
}

const std::vector<Node>& Reader::items(const Node& n) {
  if (n.kind != Node::Kind::sequence) fail(n, "expected a list");
  return n.items;
}

const std::vector<Node>& Reader::items(const Node& map, std::string_view key) {
  static const std::vector<Node> none;
  const Node* n = map.find(key);
  return n == nullptr ? none : items(*n);
}

std::string Reader::text_of(const Node& n) {
  if (n.kind != Node::Kind::scalar) fail(n, "expected text");
  return n.scalar;
}

std::string Reader::text(const Node& map, std::string_view key) {
  const Node* n = need(map, key);
  return n == nullptr ? "" : text_of(*n);
}

std::string Reader::text(const Node& map, std::string_view key, std::string otherwise) {
  return map.find(key) == nullptr ? std::move(otherwise) : text(map, key);
}

bool Reader::flag(const Node& map, std::string_view key) {
  return word(map, key, {"false", "true"}) == 1;
}

bool Reader::flag(const Node& map, std::string_view key, bool otherwise) {
  return map.find(key) == nullptr ? otherwise : flag(map, key);
}

Names Reader::words(const Node& map, std::string_view key) {
  const Node* n = need(map, key);
  Names out;
  if (n == nullptr) return out;
  for (const Node& item : items(*n)) out.push_back(text_of(item));
  return out;
}

int Reader::word(const Node& map, std::string_view key, const Names& choices) {
  const Node* n = need(map, key);
  if (n == nullptr) return 0;
  const auto it = std::find(choices.begin(), choices.end(), text_of(*n));
  if (it != choices.end()) return static_cast<int>(it - choices.begin());
  fail(*n, fmt::format("'{}', expected one of: {}", n->scalar, fmt::join(choices, ", ")));
  return 0;
}

int64_t Reader::number(const Node& n, int64_t most) {
  const std::optional<int64_t> v = whole_number(text_of(n));
  if (v && *v >= 1 && *v <= most) return *v;
  fail(n, most == INT64_MAX ? fmt::format("'{}', expected a whole number of at least 1", n.scalar)
                            : fmt::format("'{}', expected a number from 1 to {}", n.scalar, most));
  return 1;
}

int64_t Reader::number(const Node& map, std::string_view key, int64_t otherwise) {
  const Node* n = map.find(key);
  return n == nullptr ? otherwise : number(*n);
}

}  // namespace assay::yaml
