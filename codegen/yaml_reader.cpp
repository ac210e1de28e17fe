#include "codegen/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::codegen {

using yaml::Node;

Template YamlReader::spelling(const Node& n, std::span<const std::string_view> holes) {
  int level = kCallLevel;
  const Node* body = &n;
  if (n.kind == Node::Kind::map) {
    only_keys(n, {"text", "level"});
    body = need(n, "text");
    const std::string digits = text(n, "level");
    const std::optional<int64_t> given = yaml::whole_number(digits);
    if (!given || *given < 0 || *given > kCallLevel)
      fail(n, fmt::format("level '{}', expected 0 to {}", digits, kCallLevel));
    level = static_cast<int>(given.value_or(kCallLevel));
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
