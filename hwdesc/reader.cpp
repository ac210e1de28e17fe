#include "hwdesc/reader.h"

#include "hwdesc/spellings.h"
#include "support/edit_distance.h"

namespace assay::hwdesc {

void ReadContext::complain(int line, int col, std::string message, std::string hint) {
  if (diags.size() > kMaxErrors) return;
  if (diags.size() == kMaxErrors) {
    message = "too many errors; the rest is not shown";
    hint.clear();
  }
  diags.push_back(yaml::error_at(doc, line, col, std::move(message), std::move(hint)));
}

void ReadContext::complain(const yaml::Node& at, std::string message, std::string hint) {
  complain(at.line, at.col, std::move(message), std::move(hint));
}

std::string join_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  if (!near.empty()) return "did you mean '" + near + "'?";
  std::string all;
  for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
  return all.empty() ? "" : "one of: " + all;
}

std::string hint_for_key(std::string_view path, std::string_view key,
                         const std::vector<std::string>& known) {
  const std::string instead = spelling_of_key(path, key);
  return instead.empty() ? did_you_mean(key, known) : "write " + instead;
}

std::string hint_for_word(std::string_view field, std::string_view word,
                          const std::vector<std::string>& known) {
  const std::string instead = spelling_of_word(field, word);
  return instead.empty() ? did_you_mean(word, known) : "write " + instead;
}

bool is_removal(ReadContext& ctx, const yaml::Node& node) {
  if (node.tag.empty()) return false;
  if (node.tag == "!remove") return true;
  ctx.complain(node, "unknown tag '" + node.tag + "'", "the only tag of a profile is !remove");
  return false;
}

namespace {

const char* name_of(yaml::Node::Kind kind) {
  switch (kind) {
    case yaml::Node::Kind::scalar:
      return "a word";
    case yaml::Node::Kind::sequence:
      return "a list";
    case yaml::Node::Kind::map:
      return "a map";
  }
  return "a word";
}

bool is_nothing(const yaml::Node& node) {
  return node.kind == yaml::Node::Kind::scalar && node.scalar.empty() && !node.quoted;
}

std::string found(const yaml::Node& node) {
  if (is_nothing(node)) return "nothing";
  if (node.kind == yaml::Node::Kind::scalar) return "'" + node.scalar + "'";
  return name_of(node.kind);
}

std::string prefixed(const std::string& path, const std::string& message) {
  return path.empty() ? message : path + ": " + message;
}

}  // namespace

bool expect(ReadContext& ctx, const yaml::Node& node, yaml::Node::Kind kind,
            const std::string& path) {
  if (node.kind == kind && !is_nothing(node)) return true;
  ctx.complain(node,
               prefixed(path, std::string(name_of(kind)) + " is expected, not " + found(node)));
  return false;
}

bool read_word(ReadContext& ctx, const yaml::Node& node, std::string& out,
               const std::string& path) {
  if (!expect(ctx, node, yaml::Node::Kind::scalar, path)) return false;
  out = node.scalar;
  return true;
}

bool read_integer(ReadContext& ctx, const yaml::Node& node, int64_t& out, const std::string& path) {
  if (!expect(ctx, node, yaml::Node::Kind::scalar, path)) return false;
  const auto v = parse_number(node.scalar);
  if (v.ok() && *v >= 0 && *v <= 1e9 && *v == static_cast<double>(static_cast<int64_t>(*v))) {
    out = static_cast<int64_t>(*v);
    return true;
  }
  ctx.complain(node, path + ": '" + node.scalar + "' is not a whole number from 0 to 1000000000");
  return false;
}

void read_words(ReadContext& ctx, const yaml::Node& node, std::vector<std::string>& out,
                const std::string& path) {
  if (!expect(ctx, node, yaml::Node::Kind::sequence, path)) return;
  out.clear();
  for (const yaml::Node& item : node.items) {
    is_removal(ctx, item);
    std::string word;
    if (read_word(ctx, item, word, path)) out.push_back(word);
  }
}

namespace {

std::optional<Quantity> read_quantity(ReadContext& ctx, const yaml::Node& node, Dimension d,
                                      const std::string& path) {
  is_removal(ctx, node);
  if (node.kind != yaml::Node::Kind::scalar || is_nothing(node)) {
    ctx.complain(node, path + ": " + name_of(d) + " is expected, not " + found(node));
    return std::nullopt;
  }
  if (node.scalar == "unknown") return std::nullopt;
  const auto q = parse_quantity(node.scalar, d);
  if (q.ok()) return *q;
  const Diag& e = q.diags().front();
  const int col = node.col + std::max(e.col - 1, 0) + (node.quoted ? 1 : 0);
  ctx.complain(node.line, node.tag.empty() ? col : node.col, path + ": " + e.message, e.hint);
  return std::nullopt;
}

void read_field(ReadContext& ctx, const yaml::Entry& e, AnyValue& out, const std::string& path) {
  const std::string here = path + "." + e.key;
  int64_t n = 0;
  Origin origin = Origin::assumed;
  if (e.key == "value")
    out.value = read_quantity(ctx, e.value, out.dimension, here);
  else if (e.key == "low")
    out.low = read_quantity(ctx, e.value, out.dimension, here);
  else if (e.key == "high")
    out.high = read_quantity(ctx, e.value, out.dimension, here);
  else if (e.key == "n" && read_integer(ctx, e.value, n, here))
    out.n = n;
  else if (e.key == "source") {
    read_choice(ctx, e.value, origin, here);
    out.source = origin;
  } else if (e.key == "method")
    read_word(ctx, e.value, out.method, here);
  else if (e.key == "ref")
    read_word(ctx, e.value, out.ref, here);
  else if (e.key == "note")
    read_word(ctx, e.value, out.note, here);
  else if (e.key != "n")
    ctx.complain(
        e.line, e.col, path + ": unknown key '" + e.key + "'",
        hint_for_key("=", e.key, {"value", "low", "high", "n", "source", "method", "ref", "note"}));
}

}  // namespace

AnyValue read_any(ReadContext& ctx, const yaml::Node& node, Dimension d, const std::string& path) {
  AnyValue out;
  out.dimension = d;
  if (node.kind != yaml::Node::Kind::map) {
    out.value = read_quantity(ctx, node, d, path);
    return out;
  }
  if (node.find("value") == nullptr)
    ctx.complain(node, path + ": `value` is missing",
                 "{value: ..., source: ..., note: ...}, or value: unknown");
  for (const yaml::Entry& e : node.entries) {
    ctx.places[path + "." + e.key] = {ctx.document, e.value.line, e.value.col};
    read_field(ctx, e, out, path);
  }
  return out;
}

void FieldReader::missing(const char* key, const char* doc) {
  ctx_.complain(map_, prefixed(path_, std::string("`") + key + "` is missing"),
                std::string(key) + ": " + doc);
}

void FieldReader::finish() {
  for (const yaml::Entry& e : map_.entries)
    if (std::find(known_.begin(), known_.end(), e.key) == known_.end())
      ctx_.complain(e.line, e.col, prefixed(path_, "unknown key '" + e.key + "'"),
                    hint_for_key(path_, e.key, known_));
}

}  // namespace assay::hwdesc
