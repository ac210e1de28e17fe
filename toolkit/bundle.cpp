#include "toolkit/bundle.h"

#include <algorithm>
#include <cctype>

#include "support/files/files.h"
#include "support/hash.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

constexpr const char* kProfileFile = "profile.yaml";
constexpr const char* kEstimateFile = "estimate.json";
constexpr const char* kGraphFile = "graph.yaml";
constexpr const char* kConstantsFile = "constants.bin";
constexpr const char* kWeightsFile = "weights.bin";
constexpr const char* kBuildFile = "build.json";

std::string hash_of(std::span<const std::byte> bytes) {
  return hash_hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Those that tensors hold: a reader knows the sizes of no others.
std::vector<std::byte> constants_of(const ir::Graph& graph) {
  std::vector<bool> used(graph.constants.size(), false);
  for (const ir::Tensor& t : graph.tensors)
    if (t.constant >= 0) used[static_cast<size_t>(t.constant)] = true;
  std::vector<std::byte> out;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i])
      out.insert(out.end(), graph.constants[i].bytes.begin(), graph.constants[i].bytes.end());
  return out;
}

std::string header_name(const std::string& model) {
  std::string out;
  for (char c : model) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return (out.empty() ? "model" : out) + ".h";
}

Json estimate_file(const Bundle& b, const Json& hashes) {
  Json steps = Json::array();
  for (size_t i = 0; i < b.plan.steps.size(); ++i) {
    Json step = {{"name", b.plan.steps[i].name}};
    step.update(to_json(b.estimates[i]));
    steps.push_back(std::move(step));
  }
  Json out = {{"assay", kVersion},         {"model", b.plan.name},
              {"profile", b.profile.name}, {"api", b.api},
              {"hashes", hashes},          {"no_kernels", b.no_kernels},
              {"total", to_json(b.total)}, {"steps", steps}};
  for (const model::Estimate& e : b.transfers) out["transfers"].push_back(to_json(e));
  return out;
}

void append(Diags& to, Diags more) { to.insert(to.end(), more.begin(), more.end()); }

// Adds a part and keeps its hash.
struct Parts {
  NewDirectory& directory;
  Json hashes = Json::object();
  Diags diags;

  void add(const std::string& name, std::span<const std::byte> content) {
    hashes[name] = hash_of(content);
    append(diags, directory.add(name, content));
  }
  void add(const std::string& name, const std::string& text) { add(name, bytes_of_text(text)); }
};

void add_parts(const Bundle& bundle, Parts& parts) {
  parts.add(kPlanFile, ir::print_plan(bundle.plan));
  parts.add(kProfileFile, print_profile_text(bundle.profile));
  parts.add(kGraphFile, ir::print_graph(bundle.graph));
  parts.add(kConstantsFile, constants_of(bundle.graph));
  parts.add(kWeightsFile, bundle.weights);
  for (const KernelSource& k : bundle.kernels) parts.add("kernels/" + k.name, k.text);
  parts.add(header_name(bundle.plan.name), print_header(bundle));
}

Diag part_error(const std::string& directory, const std::string& part, std::string message) {
  Diag d = error(std::move(message), "compile the model again");
  d.file = directory + "/" + part;
  return d;
}

class Reader {  // invariant: `diags` holds every fault found so far
 public:
  Reader(std::string directory, Json hashes)
      : directory_(std::move(directory)), hashes_(std::move(hashes)) {}

  std::string text(const std::string& part) {
    const std::vector<std::byte> b = bytes(part);
    return std::string(reinterpret_cast<const char*>(b.data()), b.size());
  }

  // Empty on a fault, which is kept.
  std::vector<std::byte> bytes(const std::string& part) {
    Result<std::vector<std::byte>> read = read_bytes(directory_ + "/" + part);
    if (!read) {
      append(diags, read.diags());
      return {};
    }
    if (!hashes_.contains(part) || hashes_[part] != hash_of(*read)) {
      diags.push_back(
          part_error(directory_, part, "is not the file that was written with this bundle"));
      return {};
    }
    return std::move(*read);
  }

  template <class T>
  void take(Result<T> from, T& to) {
    if (from)
      to = std::move(*from);
    else
      append(diags, from.diags());
  }

  std::string path(const std::string& part) const { return directory_ + "/" + part; }
  const Json& hashes() const { return hashes_; }

  Diags diags;

 private:
  std::string directory_;
  Json hashes_;
};

// The constants' bytes, cut from one file in the order of Graph::constants.
void attach_constants(ir::Graph& graph, std::span<const std::byte> all, Reader& reader) {
  std::vector<size_t> sizes(graph.constants.size(), 0);
  for (const ir::Tensor& t : graph.tensors)
    if (t.constant >= 0)
      sizes[static_cast<size_t>(t.constant)] =
          static_cast<size_t>(ir::elements(t) * ir::bytes_of(t.dtype));
  size_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (at + sizes[i] > all.size())
      return reader.diags.push_back(error(reader.path(kConstantsFile) + " is too short"));
    const auto piece = all.subspan(at, sizes[i]);
    graph.constants[i].bytes.assign(piece.begin(), piece.end());
    at += sizes[i];
  }
}

void read_estimates(const Json& json, Bundle& bundle, Reader& reader) {
  try {
    bundle.api = json.at("api").get<std::string>();
    bundle.no_kernels = json.at("no_kernels").get<std::string>();
    reader.take(estimate_from_json(json.at("total")), bundle.total);
    for (const Json& step : json.at("steps"))
      reader.take(estimate_from_json(step), bundle.estimates.emplace_back());
    for (const Json& transfer : json.value("transfers", Json::array()))
      reader.take(estimate_from_json(transfer), bundle.transfers.emplace_back());
  } catch (const nlohmann::json::exception& e) {
    reader.diags.push_back(part_error(reader.path(""), kEstimateFile,
                                      std::string("is not as it was written: ") + e.what()));
  }
}

// Only for display: a bundle without it is whole.
void read_build(const std::string& path, Bundle& bundle) {
  const Result<std::string> text = read_text(path);
  const Result<Json> json = text ? parse_json(*text, path) : Result<Json>(text.diags());
  if (!json || !json->is_object()) return;
  bundle.plan_s = json->value("plan_s", 0.0);
  bundle.build_s = json->value("build_s", 0.0);
}

void read_kernels(Bundle& bundle, Reader& reader) {
  for (const auto& [part, hash] : reader.hashes().items())
    if (part.starts_with("kernels/")) bundle.kernels.push_back({part.substr(8), reader.text(part)});
}

Result<Json> read_manifest(const std::string& directory) {
  const std::string path = directory + "/" + kEstimateFile;
  if (!directory_exists(directory)) {
    Diag d = error("there is no such directory", "`assay compile` makes one");
    d.file = directory;
    return d;
  }
  if (!file_exists(path)) {
    Diag d = error(std::string("is not a bundle: it has no ") + kEstimateFile,
                   "`assay compile` makes one");
    d.file = directory;
    return d;
  }
  Result<std::string> text = read_text(path);
  if (!text) return text.diags();
  Result<Json> json = parse_json(*text, path);
  if (json && !(json->is_object() && json->contains("hashes") && (*json)["hashes"].is_object()))
    return part_error(directory, kEstimateFile, "is not an estimate: it has no hashes");
  return json;
}

}  // namespace

Diags write_bundle(const Bundle& bundle, const std::string& directory) {
  Result<NewDirectory> made = NewDirectory::create(directory, kPlanFile);
  if (!made) return made.diags();
  Parts parts{*made, Json::object(), {}};
  add_parts(bundle, parts);
  const Json build = {{"plan_s", bundle.plan_s}, {"build_s", bundle.build_s}};
  append(parts.diags, made->add(kEstimateFile, estimate_file(bundle, parts.hashes).dump(1) + "\n"));
  append(parts.diags, made->add(kBuildFile, build.dump(1) + "\n"));
  return parts.diags.empty() ? made->commit() : parts.diags;
}

std::string api_of_bundle(const std::string& directory) {
  const Result<Json> manifest = read_manifest(directory);
  if (!manifest || !manifest->contains("api") || !(*manifest)["api"].is_string()) return "";
  return (*manifest)["api"].get<std::string>();
}

Result<Bundle> read_bundle(const std::string& directory, const ReadOptions& options) {
  const Result<Json> manifest = read_manifest(directory);
  if (!manifest) return manifest.diags();
  Bundle bundle;
  Reader reader(directory, (*manifest)["hashes"]);
  const std::string plan = reader.text(kPlanFile), profile = reader.text(kProfileFile),
                    graph = reader.text(kGraphFile);
  bundle.weights = reader.bytes(kWeightsFile);
  if (!reader.diags.empty()) return reader.diags;
  reader.take(ir::parse_plan(plan, reader.path(kPlanFile)), bundle.plan);
  reader.take(parse_profile_text(profile, reader.path(kProfileFile)), bundle.profile);
  reader.take(ir::parse_graph(graph, reader.path(kGraphFile)), bundle.graph);
  read_estimates(*manifest, bundle, reader);
  read_kernels(bundle, reader);
  read_build(reader.path(kBuildFile), bundle);
  if (reader.diags.empty() && options.constants)
    attach_constants(bundle.graph, reader.bytes(kConstantsFile), reader);
  if (reader.diags.empty() && (bundle.estimates.size() != bundle.plan.steps.size() ||
                               bundle.transfers.size() != bundle.plan.transfers.size()))
    reader.diags.push_back(part_error(directory, kEstimateFile,
                                      "has not one estimate per step and transfer of the plan"));
  if (reader.diags.empty() && static_cast<int64_t>(bundle.weights.size()) !=
                                  bundle.plan.weights_bytes + bundle.plan.host_weights_bytes)
    reader.diags.push_back(
        part_error(directory, kWeightsFile, "has not as many bytes as the plan says"));
  if (!reader.diags.empty()) return reader.diags;
  return bundle;
}

}  // namespace assay::toolkit
