#include "cli/model_options.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "toolkit/devices.h"
#include "toolkit/profiles.h"

namespace assay::cli {
namespace {

// A whole number from 1; nullopt: the text is none.
std::optional<int64_t> extent_of(std::string_view text) {
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && stop == text.data() + text.size();
  return whole && value > 0 ? std::optional(value) : std::nullopt;
}

Diags read_dims(const ModelShapes& r, toolkit::CompileOptions& out) {
  Diags diags;
  for (const std::string& text : r.dims) {
    const size_t equals = text.find('=');
    const auto value = extent_of(equals == std::string::npos ? "" : text.substr(equals + 1));
    if (!value)
      diags.push_back(error("--dim '" + text + "' is not NAME=NUMBER with a whole number from 1",
                            "such as --dim N=1"));
    else if (!out.dims.emplace(text.substr(0, equals), *value).second)
      diags.push_back(error("--dim " + text.substr(0, equals) + " is given twice"));
  }
  return diags;
}

// `1x3x48x192`; empty: it is not of this form.
std::vector<int64_t> extents_of(const std::string& text) {
  std::vector<int64_t> shape;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    const auto extent = extent_of(std::string_view(text).substr(at, end - at));
    if (!extent) return {};
    shape.push_back(*extent);
    at = end + 1;
  }
  return shape;
}

// Names of inputs may hold an equals sign, extents none.
Diags read_inputs(const ModelShapes& r, toolkit::CompileOptions& out) {
  Diags diags;
  for (const std::string& text : r.shapes) {
    const size_t equals = text.rfind('=');
    const std::string name = text.substr(0, equals == std::string::npos ? 0 : equals);
    std::vector<int64_t> shape;
    if (equals != std::string::npos) shape = extents_of(text.substr(equals + 1));
    if (name.empty() || shape.empty())
      diags.push_back(error("--shape '" + text + "' is not INPUT=EXTENTS with whole numbers from 1",
                            "such as --shape x=1x3x48x192"));
    else if (!out.shapes.emplace(name, std::move(shape)).second)
      diags.push_back(error("--shape " + name + " is given twice"));
  }
  return diags;
}

}  // namespace

void declare_shapes(console::Options& options, ModelShapes& to) {
  options.add_option("--dim", to.dims, "value of a symbolic dimension, `N=1`; repeatable")
      .type_name("N=1")
      .allow_extra_args(false);
  options.add_option("--shape", to.shapes, "shape of an input, `x=1x3x48x192`; repeatable")
      .type_name("SHAPE")
      .allow_extra_args(false);
}

Diags read_shapes(const ModelShapes& typed, toolkit::CompileOptions& out) {
  Diags diags = read_dims(typed, out);
  for (Diag& d : read_inputs(typed, out)) diags.push_back(std::move(d));
  return diags;
}

// The operators' names, in lines as long as the help's others.
void declare_estimate(console::Options& options, EstimateWords& r) {
  options.add_option("MODEL", r.model, ".onnx file");
  options.add_option("--op", r.op, "an operator; `assay compile --help` lists them")
      .type_name("TEXT");
  options.add_option("--profile", r.profile, "file, or name in the library")
      .type_name("PROFILE")
      .required();
  options.add_option("--api", r.api, "api of the profile (default: its first)").type_name("NAME");
  options
      .add_option("--software", r.software,
                  "library: as a vendor's; assay: own programs (default where printable)")
      .type_name("WHOSE")
      .one_of({"library", "assay"});
  options
      .add_option("--type", r.type,
                  "of operators without `type=`: f64 f32 f16 bf16 f8e4m3 f8e5m2 i8")
      .type_name("TYPE");
  options
      .add_option("--launch", r.launch,
                  "a library's launches: eager, stream (default), graph, or a time: 5us")
      .type_name("HOW");
  options.add_option("--caches", r.caches, "of a library's inputs: cold (default), or warm")
      .type_name("STATE")
      .one_of({"cold", "warm"});
  declare_shapes(options, r.shapes);
  options.add_overrides(r.overrides);
}

toolkit::EstimateOptions options_of(const EstimateWords& words) {
  toolkit::EstimateOptions out;
  out.api = words.api;
  if (!words.software.empty())
    out.software =
        words.software == "library" ? toolkit::Software::library : toolkit::Software::assay;
  if (!words.launch.empty()) out.launch = words.launch;
  if (!words.caches.empty()) out.warm = words.caches == "warm";
  return out;
}

Result<hwdesc::Profile> profile_of(const std::string& name,
                                   const std::vector<std::string>& overrides) {
  Result<hwdesc::Profile> profile = toolkit::load_profile(name);
  if (!profile) return profile;
  return toolkit::apply_overrides(std::move(*profile), overrides);
}

Diags device_fault(const hwdesc::Profile& profile, const std::string& api,
                   const std::string& device) {
  const Result<hwdesc::Target> target = toolkit::target_of(profile, api);
  if (!target) return {};
  const auto opened = toolkit::open_ready(device, *target);
  return opened ? Diags{} : opened.diags();
}

std::string operator_help() {
  constexpr size_t kIndent = 8, kWidth = 88;
  std::string text = "an operator instead, such as 'matmul m=1000 n=777 k=513'";
  std::string line;
  const auto end_line = [&] { text += "\n" + std::string(kIndent, ' ') + line; };
  for (const std::string& name : toolkit::operator_names()) {
    if (line.size() + 1 + name.size() > kWidth) {
      end_line();
      line.clear();
    }
    line += (line.empty() ? "" : " ") + name;
  }
  end_line();
  return text;
}

}  // namespace assay::cli
