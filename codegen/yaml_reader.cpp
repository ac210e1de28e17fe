#include "codegen/yaml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/edit_distance.h"

namespace assay::codegen {

using yaml::Node;

std::optional<int> parse_number(std::string_view text) {
  int n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

void YamlReader::only_keys(const Node& map, const Names& known) {
  if (map.kind != Node::Kind::map) return fail(map, "expected a map");
  for (const yaml::Entry& e : map.entries) {
    if (std::find(known.begin(), known.end(), e.key) != known.end()) continue;
    const std::string near = nearest(e.key, known);
    diags.push_back(error_at(doc, e.line, e.col, fmt::format("unknown key '{}'", e.key),
                             near.empty() ? "" : fmt::format("did you mean '{}'?", near)));
  }
}

const Node* YamlReader::need(const Node& map, std::string_view key) {
  const Node* n = map.kind == Node::Kind::map ? map.find(key) : nullptr;
  if (n == nullptr) fail(map, fmt::format("'{}' is missing", key));
  return n;
}

std::string YamlReader::text_of(const Node& n) {
  if (n.kind != Node::Kind::scalar) fail(n, "expected text");
  return n.scalar;
}

std::string YamlReader::text(const Node& map, std::string_view key) {
  const Node* n = need(map, key);
  return n == nullptr ? "" : text_of(*n);
}

bool YamlReader::flag(const Node& map, std::string_view key) {
  return word(map, key, {"false", "true"}) == 1;
}

Names YamlReader::words(const Node& map, std::string_view key) {
  const Node* n = need(map, key);
  if (n == nullptr) return {};
  if (n->kind != Node::Kind::sequence) fail(*n, "expected a list");
  Names out;
  for (const Node& item : n->items) out.push_back(text_of(item));
  return out;
}

int YamlReader::word(const Node& map, std::string_view key, const Names& choices) {
  const Node* n = need(map, key);
  if (n == nullptr) return 0;
  const auto it = std::find(choices.begin(), choices.end(), text_of(*n));
  if (it != choices.end()) return static_cast<int>(it - choices.begin());
  fail(*n, fmt::format("'{}', expected one of: {}", n->scalar, fmt::join(choices, ", ")));
  return 0;
}

int YamlReader::number(const Node& n, int most) {
  const std::optional<int> v = parse_number(text_of(n));
  if (v && *v >= 1 && *v <= most) return *v;
  fail(n, fmt::format("'{}', expected a number from 1 to {}", n.scalar, most));
  return 1;
}

Template YamlReader::spelling(const Node& n, std::span<const std::string_view> holes) {
  int level = kCallLevel;
  const Node* body = &n;
  if (n.kind == Node::Kind::map) {
    only_keys(n, {"text", "level"});
    body = need(n, "text");
    const std::string digits = text(n, "level");
    const std::optional<int> given = parse_number(digits);
    if (!given || *given < 0 || *given > kCallLevel)
      fail(n, fmt::format("level '{}', expected 0 to {}", digits, kCallLevel));
    level = given.value_or(kCallLevel);
    if (body == nullptr) return {};
  }
  auto parsed = parse_template(text_of(*body), level);
  if (!parsed) {
    fail(*body, parsed.diags()[0].message, parsed.diags()[0].hint);
    return {};
  }
  for (const Piece& p : parsed->pieces)
    if (p.hole && std::find(holes.begin(), holes.end(), p.text) == holes.end())
      fail(*body, fmt::format("unknown hole {{{}}}, expected: {}", p.text, fmt::join(holes, ", ")));
  return std::move(parsed).value();
}

Template YamlReader::spelling(const Node& map, std::string_view key,
                              std::span<const std::string_view> holes) {
  const Node* n = need(map, key);
  return n == nullptr ? Template{} : spelling(*n, holes);
}

}  // namespace assay::codegen
