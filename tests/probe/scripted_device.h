// A device whose runs take the times of a script, whatever the kernel.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device.h"

namespace assay::probe::test {

struct Script {
  std::vector<double> seconds;  // of each burst; the last one stays
  size_t asked = 0;
  size_t launches = 0;
  double cross_die_ratio = 1;  // of every other run of kLook launches: another unit's lines
  size_t looks = 0;
};
inline constexpr size_t kLook = 4;  // launches of a cross-die look

class ScriptedModule final : public runtime::Module {
 public:
  explicit ScriptedModule(Script& script) : script_(script) {}
  Result<int> allocate(int64_t) override { return 0; }
  void write(runtime::BufferRange, std::span<const std::byte>) override {}
  void write_words(int, std::span<const runtime::Word>) override {}
  void read(runtime::BufferRange, std::span<std::byte>) const override {}
  Result<runtime::RunTimes> run(std::span<const runtime::Launch> launches,
                                const runtime::RunOptions&) override {
    script_.launches = launches.size();
    double t = script_.seconds.at(std::min(script_.asked++, script_.seconds.size() - 1));
    if (launches.size() == kLook && ++script_.looks % 2 == 0) t *= script_.cross_die_ratio;
    runtime::RunTimes out;
    out.steps.assign(1, std::vector<double>(launches.size(), t));
    out.busy = out.steps;
    out.total = {t};
    return out;
  }
  const std::vector<runtime::KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return 0; }
  const Diags& warnings() const override { return warnings_; }

 private:
  Script& script_;
  std::vector<runtime::KernelReport> reports_;
  Diags warnings_;
};

class ScriptedDevice final : public runtime::Device {
 public:
  explicit ScriptedDevice(std::vector<double> seconds) : script{std::move(seconds)} {
    info_.units = 2;
  }
  Script script;
  std::string loaded;
  const runtime::DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<runtime::Module>> load(std::span<const ir::Kernel> kernels,
                                                const hwdesc::Target&,
                                                const runtime::LoadOptions&) override {
    loaded = kernels[0].name;
    return std::unique_ptr<runtime::Module>(std::make_unique<ScriptedModule>(script));
  }

 private:
  runtime::DeviceInfo info_;
};

}  // namespace assay::probe::test
