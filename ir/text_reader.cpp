#include "ir/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/edit_distance.h"

namespace assay::ir {

using yaml::Node;

namespace {

constexpr size_t kMostFaults = 200;

}  // namespace

void TextReader::fault(const Node& at, std::string message, std::string hint) {
  if (diags_.size() < kMostFaults)
    diags_.push_back(yaml::error_at(doc_, at, std::move(message), std::move(hint)));
}

// Exact for scalars on one line without escapes; else the scalar's own place.
void TextReader::fault(const Node& scalar, const TextFault& f) {
  const bool simple = line_of(doc_.text, scalar.line).find(scalar.scalar) != std::string::npos;
  const int shift = simple ? static_cast<int>(f.at) + (scalar.quoted ? 1 : 0) : 0;
  if (diags_.size() < kMostFaults)
    diags_.push_back(yaml::error_at(doc_, scalar.line, scalar.col + shift, f.message, f.hint));
}

bool TextReader::is_map(const Node& node, std::string_view what) {
  if (node.kind == Node::Kind::map) return true;
  fault(node, fmt::format("{} must be a map", what));
  return false;
}

bool TextReader::is_map(const Node& node, std::string_view what,
                        std::initializer_list<std::string_view> known) {
  if (!is_map(node, what)) return false;
  for (const yaml::Entry& e : node.entries) {
    if (std::find(known.begin(), known.end(), e.key) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string near = nearest(e.key, names);
    const std::string hint = near.empty() ? fmt::format("known keys: {}", fmt::join(names, ", "))
                                          : fmt::format("did you mean {}?", near);
    if (diags_.size() < kMostFaults)
      diags_.push_back(yaml::error_at(doc_, e.line, e.col,
                                      fmt::format("unknown key {} in {}", e.key, what), hint));
  }
  return true;
}

bool TextReader::is_list(const Node& node, std::string_view what) {
  if (node.kind == Node::Kind::sequence) return true;
  fault(node, fmt::format("{} must be a list", what));
  return false;
}

const Node* TextReader::need(const Node& map, std::string_view key) {
  const Node* found = map.find(key);
  if (!found) fault(map, fmt::format("the key {} is missing", key));
  return found;
}

std::optional<std::string> TextReader::text(const Node& node) {
  if (node.kind == Node::Kind::scalar) return node.scalar;
  fault(node, "expected text");
  return std::nullopt;
}

std::optional<int64_t> TextReader::integer(const Node& node, int64_t low, int64_t high) {
  const std::optional<std::string> string = text(node);
  if (!string) return std::nullopt;
  int64_t value = 0;
  const char* last = string->data() + string->size();
  const auto [end, error] = std::from_chars(string->data(), last, value);
  if (error != std::errc() || end != last || node.quoted)
    fault(node, fmt::format("found {}, expected a whole number", *string));
  else if (value < low || value > high)
    fault(node, fmt::format("found {}, expected {} to {}", value, low, high));
  else
    return value;
  return std::nullopt;
}

std::optional<bool> TextReader::flag(const Node& node) {
  const std::optional<std::string> string = text(node);
  if (!string) return std::nullopt;
  if (*string == "true" || *string == "false") return *string == "true";
  fault(node, fmt::format("found {}, expected true or false", *string));
  return std::nullopt;
}

std::string TextReader::text_or(const Node& map, std::string_view key, std::string otherwise) {
  const Node* node = map.find(key);
  return node ? text(*node).value_or(otherwise) : otherwise;
}

int64_t TextReader::integer_or(const Node& map, std::string_view key, int64_t low, int64_t high,
                               int64_t otherwise) {
  const Node* node = map.find(key);
  return node ? integer(*node, low, high).value_or(otherwise) : otherwise;
}

bool TextReader::flag_or(const Node& map, std::string_view key, bool otherwise) {
  const Node* node = map.find(key);
  return node ? flag(*node).value_or(otherwise) : otherwise;
}

bool TextReader::has_schema(std::string_view schema, std::string_view older) {
  const Node* node = doc_.root.kind == Node::Kind::map ? doc_.root.find("schema") : nullptr;
  if (node && node->kind == Node::Kind::scalar &&
      (node->scalar == schema || (!older.empty() && node->scalar == older)))
    return true;
  fault(node ? *node : doc_.root, fmt::format("expected schema: {}", schema),
        fmt::format("the document begins with the line schema: {}", schema));
  return false;
}

}  // namespace assay::ir
