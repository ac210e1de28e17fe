#include "hwdesc/target.h"

#include <algorithm>

#include "hwdesc/reader.h"
#include "support/yaml.h"

namespace assay::hwdesc {

namespace {

void read_flag(ReadContext& ctx, const yaml::Node& node, bool& out, const std::string& path) {
  Fact fact = Fact::unknown;
  read_choice(ctx, node, fact, path);
  out = fact == Fact::yes;
}

void read_widths(ReadContext& ctx, const yaml::Node& node, std::vector<int>& out,
                 const std::string& path) {
  if (!expect(ctx, node, yaml::Node::Kind::sequence, path)) return;
  for (const yaml::Node& item : node.items) {
    int64_t n = 0;
    if (!read_integer(ctx, item, n, path)) continue;
    if (n == 0)
      ctx.complain(item, path + ": 0 is no width");
    else
      out.push_back(static_cast<int>(n));
  }
}

void read_capability(ReadContext& ctx, const yaml::Entry& e, DialectCapabilities& out) {
  const std::string path = "capabilities." + e.key;
  if (e.key == "vector_widths")
    read_widths(ctx, e.value, out.vector_widths, path);
  else if (e.key == "group_barrier")
    read_flag(ctx, e.value, out.group_barrier, path);
  else if (e.key == "group_memory")
    read_flag(ctx, e.value, out.group_memory, path);
  else if (e.key == "prefetch")
    read_flag(ctx, e.value, out.prefetch, path);
  else if (e.key == "schedules")
    read_flag(ctx, e.value, out.schedules, path);
  else if (e.key == "merges")
    read_flag(ctx, e.value, out.merges, path);
  else if (e.key == "conditions")
    read_flag(ctx, e.value, out.conditions, path);
  else if (e.key == "math")
    read_words(ctx, e.value, out.math, path);
  else if (e.key == "dtypes")
    read_words(ctx, e.value, out.dtypes, path);
  else if (e.key == "lanes")
    read_words(ctx, e.value, out.lanes, path);
  else
    ctx.complain(
        e.line, e.col, "capabilities: unknown key '" + e.key + "'",
        did_you_mean(e.key, {"vector_widths", "group_barrier", "group_memory", "prefetch",
                             "schedules", "merges", "conditions", "math", "dtypes", "lanes"}));
}

void read_header(ReadContext& ctx, const yaml::Node& root, const std::string& name) {
  const yaml::Node* schema = root.find("schema");
  if (schema == nullptr || schema->scalar != "assay/dialect/1")
    ctx.complain(schema ? *schema : root, "a dialect begins with schema: assay/dialect/1");
  const yaml::Node* given = root.find("name");
  if (given == nullptr)
    ctx.complain(root, "`name` is missing");
  else if (given->scalar != name)
    ctx.complain(*given, "name: '" + given->scalar + "' is not the dialect '" + name + "'");
}

// `capabilities:` of a dialect file. Codegen reads its other keys.
Result<DialectCapabilities> read_capabilities(std::string_view text, const std::string& name) {
  auto doc = yaml::parse(text, "dialects/" + name + ".yaml");
  if (!doc.ok()) return doc.diags();
  Diags diags;
  std::map<std::string, Place> places;
  ReadContext ctx{*doc, 0, diags, places};
  DialectCapabilities out;
  out.name = name;
  out.known = true;
  if (expect(ctx, doc->root, yaml::Node::Kind::map, "a dialect")) {
    read_header(ctx, doc->root, name);
    const yaml::Node* given = doc->root.find("capabilities");
    if (given == nullptr)
      ctx.complain(doc->root, "`capabilities` is missing");
    else if (expect(ctx, *given, yaml::Node::Kind::map, "capabilities"))
      for (const yaml::Entry& e : given->entries) read_capability(ctx, e, out);
  }
  if (!diags.empty()) return diags;
  return out;
}

Diag unknown_api(const Profile& profile, std::string_view name) {
  std::vector<std::string> known;
  for (const Api& a : profile.apis) known.push_back(a.name);
  return error("profile '" + profile.name + "' has no api '" + std::string(name) + "'",
               did_you_mean(name, known));
}

}  // namespace

int threads_of(const Target& target) {
  const auto& lanes = target.profile.execution.lanes;
  int width = 0;
  for (const LaneMode& mode : lanes.modes)
    if (lanes.style == LaneStyle::simt && mode.width.known()) {
      const int w = static_cast<int>(mode.width.value->v);
      width = width == 0 ? w : std::min(width, w);
    }
  return std::max(1, width);
}

bool is_scratchpad(const MemoryLevel& l) {
  return l.managed == Managed::explicit_ && l.per != "device" && l.per != "host";
}

bool copies_overlap(const Profile& profile) {
  return std::any_of(profile.movers.begin(), profile.movers.end(), [&](const Mover& mover) {
    return mover.async == Fact::yes &&
           std::any_of(profile.memory.begin(), profile.memory.end(), [&](const MemoryLevel& l) {
             return l.name == mover.to && is_scratchpad(l);
           });
  });
}

bool copies_multicast(const Profile& profile) {
  return std::any_of(profile.movers.begin(), profile.movers.end(), [&](const Mover& mover) {
    return mover.multicast == Fact::yes &&
           std::any_of(profile.memory.begin(), profile.memory.end(), [&](const MemoryLevel& l) {
             return l.name == mover.to && is_scratchpad(l);
           });
  });
}

Result<Target> select_target(const Profile& profile, std::string_view api_name,
                             std::string_view dialect_yaml) {
  Target target;
  target.profile = profile;
  if (profile.apis.empty() && api_name.empty()) return target;  // for predictions only
  const auto found = std::find_if(profile.apis.begin(), profile.apis.end(), [&](const Api& a) {
    return api_name.empty() || a.name == api_name;
  });
  if (found == profile.apis.end()) return unknown_api(profile, api_name);
  target.api = *found;
  target.dialect.name = found->dialect;
  if (dialect_yaml.empty()) return target;
  auto capabilities = read_capabilities(dialect_yaml, found->dialect);
  if (!capabilities.ok()) return capabilities.diags();
  // Kernels that the dialect can not print are still predicted.
  const auto& lanes = profile.execution.lanes;
  const std::string style = lanes.style == LaneStyle::simd ? "simd" : "simt";
  const bool any = capabilities->lanes.empty();
  if (!any && std::find(capabilities->lanes.begin(), capabilities->lanes.end(), style) ==
                  capabilities->lanes.end())
    return target;
  target.dialect = std::move(*capabilities);
  return target;
}

}  // namespace assay::hwdesc
