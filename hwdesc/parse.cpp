#include "hwdesc/parse.h"

#include <algorithm>
#include <memory>

#include "hwdesc/canonical.h"
#include "hwdesc/check.h"
#include "hwdesc/inherited.h"
#include "hwdesc/override.h"
#include "hwdesc/reader.h"
#include "hwdesc/walk.h"

namespace assay::hwdesc {

namespace {

constexpr const char* kSchema = "assay/profile/1";
constexpr size_t kMaxParents = 16;

// The documents read so far: a profile and its chain of parents.
struct Reading {
  const Library& lib;
  Diags diags;
  std::vector<std::unique_ptr<yaml::Document>> docs;
  std::map<std::string, Place> places;
  std::vector<std::string> chain;  // files being read, the first one outermost
  std::vector<Finding> doubts;     // about what the outermost one inherits
};

Profile read_file(Reading& reading, std::string_view text, std::string_view file);

struct SetOrigin {  // leaf: makes the default origin explicit
  Origin origin;
  template <class M>
  void operator()(const Path&, M& member) const {
    if constexpr (AValue<M>) {
      if (member != M{} && !member.source) member.source = origin;
    }
  }
};

// Makes the origin of the parent's values explicit where the child has another default.
void keep_origins(const yaml::Node& root, Profile& parent) {
  const yaml::Node* source = root.find("source");
  if (source == nullptr || source->kind != yaml::Node::Kind::scalar) return;
  if (source->scalar == word_of(parent.source)) return;
  walk(parent, SetOrigin{parent.source});
}

Profile read_parent(Reading& reading, ReadContext& ctx, const yaml::Node& root) {
  const yaml::Node* extends = root.find("extends");
  std::string name;
  if (extends == nullptr || !read_word(ctx, *extends, name, "extends")) return {};
  const auto found = reading.lib(name);
  if (!found) {
    ctx.complain(*extends, "extends: no profile '" + name + "' beside this file or in the library");
    return {};
  }
  const auto& chain = reading.chain;
  if (std::find(chain.begin(), chain.end(), found->second) != chain.end() ||
      chain.size() >= kMaxParents) {
    std::string steps;
    for (const std::string& f : chain) steps += f + " -> ";
    ctx.complain(*extends, "extends: a profile can not extend itself: " + steps + found->second);
    return {};
  }
  Profile parent = read_file(reading, found->first, found->second);
  keep_origins(root, parent);
  return parent;
}

void check_schema(ReadContext& ctx, const yaml::Node& root) {
  const yaml::Node* schema = root.find("schema");
  if (schema == nullptr)
    ctx.complain(root, "`schema` is missing", std::string("begin with schema: ") + kSchema);
  else if (schema->scalar != kSchema)
    ctx.complain(*schema, "schema: '" + schema->scalar + "' is not known",
                 std::string("this reads ") + kSchema);
}

void apply_overrides(ReadContext& ctx, const yaml::Node& root, Profile& profile) {
  const yaml::Node* list = root.find("overrides");
  if (list == nullptr || !expect(ctx, *list, yaml::Node::Kind::sequence, "overrides")) return;
  for (const yaml::Node& item : list->items) {
    std::string text;
    if (!read_word(ctx, item, text, "overrides")) continue;
    auto changed = apply_override(profile, text);
    if (changed.ok()) {
      profile = std::move(*changed);
      continue;
    }
    for (const Diag& d : changed.diags())
      ctx.complain(item.line, item.col + std::max(d.col - 1, 0) + (item.quoted ? 1 : 0), d.message,
                   d.hint);
  }
}

void read_fields(ReadContext& ctx, const yaml::Node& root, Profile& profile) {
  FieldReader reader(ctx, root, "");
  for (const char* key : {"schema", "extends", "overrides"}) reader.also_known(key);
  fields(reader, profile);
  reader.finish();
}

Profile read_file(Reading& reading, std::string_view text, std::string_view file) {
  if (text.size() > kMaxProfileBytes) {
    Diag d = error("a profile is at most " + std::to_string(kMaxProfileBytes >> 20) + " MiB");
    d.file = file;
    reading.diags.push_back(d);
    return {};
  }
  auto doc = yaml::parse(text, file);
  if (!doc.ok()) {
    reading.diags.insert(reading.diags.end(), doc.diags().begin(), doc.diags().end());
    return {};
  }
  const size_t index = reading.docs.size();
  reading.docs.push_back(std::make_unique<yaml::Document>(std::move(*doc)));
  ReadContext ctx{*reading.docs.back(), index, reading.diags, reading.places};
  const yaml::Node& root = ctx.doc.root;
  if (!expect(ctx, root, yaml::Node::Kind::map, "a profile")) return {};
  reading.chain.emplace_back(file);
  check_schema(ctx, root);
  const Profile parent = read_parent(reading, ctx, root);
  Profile profile = parent;
  read_fields(ctx, root, profile);
  if (!has_error(reading.diags)) apply_overrides(ctx, root, profile);
  reading.chain.pop_back();
  if (root.find("extends") != nullptr && reading.chain.empty())
    reading.doubts = doubts_of_inherited(parent, profile, [&](const std::string& path) {
      const auto place = reading.places.find(path);
      return place != reading.places.end() && place->second.document == index;
    });
  return profile;
}

// A finding with the place of its path, or of the nearest enclosing node in a file.
Diag placed(const Reading& reading, const Finding& finding) {
  std::string path = finding.path;
  for (;;) {
    const auto found = reading.places.find(path);
    if (found != reading.places.end()) {
      const Place& p = found->second;
      Diag d = yaml::error_at(*reading.docs[p.document], p.line, p.col, to_diag(finding).message,
                              finding.hint);
      d.severity = finding.severity;
      return d;
    }
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) break;
    path.resize(dot);
  }
  Diag d = to_diag(finding);
  d.file = reading.docs.front()->file;
  return d;
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, std::string_view file, const Library& lib,
                              const ParseOptions& options) {
  Reading reading{lib, {}, {}, {}, {}, {}};
  Profile profile = read_file(reading, text, file);
  if (has_error(reading.diags)) return reading.diags;
  if (options.consistent)
    for (const Finding& f : inconsistencies(profile))
      if (f.severity == Severity::error) reading.diags.push_back(placed(reading, f));
  if (has_error(reading.diags)) return reading.diags;
  if (options.notes != nullptr)
    for (const Finding& f : reading.doubts) options.notes->push_back(placed(reading, f));
  return canonical(std::move(profile));
}

}  // namespace assay::hwdesc
