#include "runtime/virtual/device.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "codegen/dialect.h"
#include "hwdesc/library.h"
#include "hwdesc/parse.h"
#include "runtime/source.h"
#include "runtime/virtual/module.h"
#include "support/yaml.h"

namespace assay::runtime::simulated {
namespace {

std::optional<std::string> text_of(const std::string& path) {
  struct stat at {};
  if (::stat(path.c_str(), &at) != 0 || !S_ISREG(at.st_mode) ||
      at.st_size > static_cast<off_t>(hwdesc::kMaxProfileBytes))
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

// Looks profiles up in the folder of the file that names them, then in the library.
hwdesc::Library library_beside(const std::string& file) {
  return [folder = folder_of(file)](
             std::string_view name) -> std::optional<std::pair<std::string, std::string>> {
    for (const char* ending : {"", ".yaml", "/profile.yaml"}) {
      const std::string path = folder + std::string(name) + ending;
      if (auto text = text_of(path)) return std::pair{std::move(*text), path};
    }
    return hwdesc::library_profile(name);
  };
}

Result<hwdesc::Profile> profile_of(const std::string& name, const std::string& file) {
  const auto lookup = library_beside(file);
  if (const auto found = lookup(name))
    return hwdesc::parse_profile(found->first, found->second, library_beside(found->second));
  return hwdesc::load_from_library(name);  // the error suggests similar names
}

bool has_effects(const std::string& text, const std::string& file) {
  const auto doc = yaml::parse(text, file);
  if (!doc || doc->root.kind != yaml::Node::Kind::map) return false;
  const yaml::Node* schema = doc->root.find("schema");
  return schema != nullptr && schema->scalar.starts_with("assay/virtual/");
}

struct Described {
  Effects effects;
  hwdesc::Profile profile;
};

Result<Described> describe(const std::string& name) {
  const auto text = text_of(name);
  if (!text || !has_effects(*text, name)) {
    auto profile = profile_of(name, "");
    if (!profile) return profile.diags();
    Effects none;
    none.profile = name;
    return Described{std::move(none), std::move(profile).value()};
  }
  auto effects = parse_effects(*text, name);
  if (!effects) return effects.diags();
  auto profile = profile_of(effects->profile, name);
  if (!profile) return profile.diags();
  return Described{std::move(effects).value(), std::move(profile).value()};
}

// What systems write of caches, made larger or smaller.
void declare_caches(const Chip& chip, double times, DeviceInfo& d) {
  size_t n = 0;
  for (const Level& l : chip.levels)
    if (!l.memory)
      d.facts.emplace_back(
          fmt::format("declared.l{}", ++n),
          fmt::format("{:.0f}K, shared by CPUs {}, line {:.0f} B", times * l.capacity / 1024,
                      l.unit_wide || chip.units == 1 ? "0" : fmt::format("0-{}", chip.units - 1),
                      times * l.line));
}

bool merges(const std::string& dialect) {
  const auto d = codegen::parse_dialect(codegen::dialect_text(dialect), dialect);
  return d.ok() && d->capabilities.merges;
}

// Only what a driver would report: no caches, unless its effects ask for them.
DeviceInfo info_of(const std::string& id, const Chip& chip, const Effects& effects) {
  const double said = effects.declares > 0 ? effects.declares : 1;
  DeviceInfo d;
  d.id = id;
  d.name = chip.name;
  d.api = chip.api;
  d.units = chip.threads ? 1 : chip.units;
  d.memory_bytes = static_cast<int64_t>(chip.memory_bytes);
  d.threads = chip.threads;
  for (const Mode& m : chip.modes) d.widths.push_back(m.width);
  d.clock_hz = chip.clock;
  d.simulated = true;
  d.in_sequence = chip.in_sequence;
  d.scheduled_units = chip.queues ? chip.units : 0;
  d.merges = chip.threads && merges(chip.dialect);
  d.phased = d.merges || (chip.threads && chip.beside_launch > 0);
  d.facts = {{"class", chip.threads ? "gpu" : "cpu"},
             {"driver", "simulated"},
             {"compute_units", fmt::format("{:.0f}", std::max(1.0, said * chip.units))}};
  if (effects.declares > 0 && !chip.threads) declare_caches(chip, said, d);
  if (effects.neighbour.comes()) d.facts.emplace_back("neighbours", "come and go");
  if (effects.build > 0) d.facts.emplace_back("builds", "in our time");
  if (chip.threads && chip.group_threads > 0)
    d.facts.emplace_back("group_threads", std::to_string(chip.group_threads));
  if (chip.threads && chip.scratch.exists)
    d.facts.emplace_back("group_memory", fmt::format("{:.0f}", chip.group_memory > 0
                                                                   ? std::min(chip.group_memory,
                                                                              chip.scratch.capacity)
                                                                   : chip.scratch.capacity));
  d.facts.emplace_back("types",
                       chip.types.empty() ? "none" : fmt::format("{}", fmt::join(chip.types, " ")));
  std::string stores = "f16 bf16 f8e4m3 f8e5m2 i8 u8";  // and pairs of those it computes in
  for (const std::string& t : chip.types)
    if (t.ends_with("x2")) stores += " " + t;
  d.facts.emplace_back("stores", stores);
  std::string matrix;
  for (const MatrixCost& c : chip.matrix) matrix += (matrix.empty() ? "" : " ") + c.name;
  if (!matrix.empty()) d.facts.emplace_back("matrix", matrix);
  for (const Path& p : chip.paths) {
    if (p.space == ir::Space::constant)
      d.facts.emplace_back("constant_memory", fmt::format("{:.0f}", p.bytes));
    if (p.space != ir::Space::image) continue;
    d.facts.emplace_back("images", "yes");
    d.facts.emplace_back("image_width", fmt::format("{:.0f}", p.max_width));
    d.facts.emplace_back("image_height", fmt::format("{:.0f}", p.max_height));
    d.facts.emplace_back("image_outside", "as its profile says");
  }
  if (chip.allocation > 0)
    d.facts.emplace_back("largest_buffer", fmt::format("{:.0f}", chip.allocation));
  return d;
}

// Element types whose multiply-adds the target writes in a form that the chip does not fuse.
Result<std::vector<ir::DType>> in_two(const Chip& chip, const hwdesc::Target& target) {
  std::vector<ir::DType> out;
  if (chip.forms.empty()) return out;
  const auto dialect = codegen::parse_dialect(codegen::dialect_text(chip.dialect), chip.dialect);
  if (!dialect) return dialect.diags();
  const auto known = codegen::in_forms(*dialect, chip.forms),
             written = codegen::in_forms(*dialect, target.api.forms);
  if (!known) return known.diags();
  if (!written) return written.diags();
  for (const auto& [key, form] : chip.forms) {
    const ir::DType dtype = *ir::parse_element_type(key.substr(key.find('.') + 1));
    if (key.starts_with("fma.") && *known->find("fma", dtype) != *written->find("fma", dtype))
      out.push_back(dtype);
  }
  return out;
}

class VirtualDevice final : public Device {
 public:
  explicit VirtualDevice(std::shared_ptr<Simulated> on)
      : info_(info_of(on->id, on->chip, on->effects)), on_(std::move(on)) {}

  const DeviceInfo& info() const override { return info_; }

  // Kernels for any target are executed directly, without printing, with as many threads as the
  // target has lanes.
  Result<std::unique_ptr<Module>> load(std::span<const ir::Kernel> kernels,
                                       const hwdesc::Target& target,
                                       const LoadOptions& options) override {
    const int threads = hwdesc::threads_of(target);
    if (const int most = on_->chip.group_threads; on_->chip.threads && most > 0)
      if (Diags many = check_waves(info_.id, kernels, threads, most); has_error(many)) return many;
    const auto twice = in_two(on_->chip, target);
    if (!twice) return twice.diags();
    return VirtualModule::make(on_, kernels, threads > 1 ? threads : info_.widths.front(),
                               info_.in_sequence && !options.one_by_one, target.dialect.merges,
                               *twice);
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<Simulated> on_;
};

}  // namespace

Found find() {
  return {{},
          {},
          {{"virtual:",
            "simulates a profile's chip: virtual:generic/x86-avx512-2core, virtual:FILE.yaml "
            "(docs/virtual.md)"}}};
}

Result<std::unique_ptr<Device>> open(const std::string& id) {
  const std::string name = id.substr(std::string_view(kPrefix).size());
  if (name.empty())
    return error("a virtual device needs a profile", "virtual:generic/x86-avx512-2core");
  auto described = describe(name);
  if (!described) return described.diags();
  auto chip = make_chip(described->profile, described->effects);
  if (!chip) return chip.diags();
  Chip left = beside(*chip, described->effects.neighbour);
  auto on = std::make_shared<Simulated>(
      Simulated{id, std::move(described->effects), std::move(chip).value(), std::move(left)});
  return std::unique_ptr<Device>(std::make_unique<VirtualDevice>(std::move(on)));
}

}  // namespace assay::runtime::simulated
