#include "runtime/cpu/device.h"

#include <fmt/format.h>

#include "codegen/dialect.h"
#include "runtime/cpu/compiler.h"
#include "runtime/cpu/cpu_info.h"
#include "runtime/cpu/module.h"
#include "runtime/source.h"

namespace assay::runtime::cpu {
namespace {

constexpr const char* kDialect = "cpp";

DeviceInfo info_of(const CpuInfo& cpu) {
  DeviceInfo d;
  d.id = "cpu:0";
  d.name = cpu.model;
  d.api = kDialect;
  d.units = static_cast<int>(cpu.usable.size());
  d.scheduled_units = d.units;
  d.memory_bytes = cpu.memory_bytes;
  d.facts = {{"os", cpu.os}, {"isa", cpu.isa}, {"class", "cpu"}, {"threads", "own"}};
  d.facts.emplace_back("types", cpu.has_f16 ? "f16 i8 dot" : "i8 dot");
  d.facts.emplace_back("stores", "f16 bf16 f8e4m3 f8e5m2 i8 u8 bf16x2");
  d.facts.emplace_back("features", cpu.features);
  const auto compiler = find_compiler();
  d.facts.emplace_back("compiler",
                       compiler ? compiler->version : "none: " + compiler.diags()[0].message);
  if (compiler) d.facts.emplace_back("compiler_path", compiler->path);
  return d;
}

class CpuDevice final : public Device {  // invariant: one pool over all usable CPUs
 public:
  CpuDevice(CpuInfo cpu, codegen::Dialect dialect)
      : cpu_(std::move(cpu)),
        info_(info_of(cpu_)),
        dialect_(std::move(dialect)),
        pool_(std::make_shared<Pool>(cpu_.usable)) {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Module>> load(std::span<const ir::Kernel> kernels,
                                       const hwdesc::Target& target,
                                       const LoadOptions& options) override {
    if (const Diags other = check_dialect(info_.id, kDialect, target); has_error(other))
      return other;
    const auto dialect = codegen::in_forms(dialect_, target.api.forms);
    if (!dialect) return dialect.diags();
    if (const Diags absent = check_instructions(info_, kernels); has_error(absent)) return absent;
    const auto compiler = find_compiler();
    if (!compiler) return compiler.diags();
    Diags warnings;
    auto cache = KernelCache::open(options.cache_dir, warnings);
    if (!cache) return cache.diags();
    const BuildRequest request{kernels,          *dialect,      *compiler,
                               cpu_.fingerprint, pool_->size(), options};
    const auto built = build(request, *cache);
    if (!built) return built.diags();
    return CpuModule::make(pool_, kernels, *built, options.guarded, std::move(warnings));
  }

 private:
  CpuInfo cpu_;
  DeviceInfo info_;
  codegen::Dialect dialect_;
  std::shared_ptr<Pool> pool_;
};

}  // namespace

Found find() {
  const auto compiler = find_compiler();
  if (!compiler)
    return {{}, {{"cpu:0", compiler.diags()[0].message, compiler.diags()[0].hint, kDialect}}};
  return {{info_of(read_cpu_info())}, {}};
}

Result<std::unique_ptr<Device>> open() {
  auto dialect = codegen::parse_dialect(codegen::dialect_text(kDialect),
                                        fmt::format("dialects/{}.yaml", kDialect));
  if (!dialect) return dialect.diags();
  return std::unique_ptr<Device>(
      std::make_unique<CpuDevice>(read_cpu_info(), std::move(dialect).value()));
}

}  // namespace assay::runtime::cpu
