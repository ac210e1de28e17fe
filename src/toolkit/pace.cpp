#include "toolkit/pace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "probe/code.h"
#include "probe/kernels.h"

namespace assay::toolkit {
namespace {

constexpr double kSlow = 1.12;           // of the fastest burst
constexpr int kChains = 12;              // as many as hide the latency of a multiply-add
constexpr float kIterations = 20'000;  // some 60 us
constexpr double kPatience = 2, kAllPatience = 120;  // s
constexpr auto kNap = std::chrono::milliseconds(50);

int widest(const hwdesc::Target& target) {
  double lanes = 0;
  for (const hwdesc::LaneMode& m : target.profile.execution.lanes.modes)
    if (m.width.known()) lanes = std::max(lanes, m.width.value->v);
  return static_cast<int>(lanes);
}

}  // namespace

Result<std::unique_ptr<Pace>> Pace::load(runtime::Device& device, const hwdesc::Target& target, const std::string& cache_dir) {
  std::unique_ptr<Pace> none;
  if (hwdesc::threads_of(target) > 1) return none;
  const std::vector<ir::Kernel> all = probe::all_kernels(probe::shape_of(device.info()));
  const std::string name = probe::op_name("fma", widest(target), kChains);
  const auto kernel = std::find_if(all.begin(), all.end(), [&](const ir::Kernel& k) { return k.name == name; });
  if (kernel == all.end()) return none;
  auto pace = std::make_unique<Pace>();
  runtime::LoadOptions options;
  options.cache_dir = cache_dir;
  Result<std::unique_ptr<runtime::Module>> module = device.load(std::span(&*kernel, 1), target, options);
  if (!module) return module.diags();
  pace->module_ = std::move(*module);
  const int units = device.info().units;
  const Result<int> out = pace->module_->allocate(units * probe::kSlotFloats * int64_t{sizeof(float)});
  if (!out) return out.diags();
  const Result<int> parameters = pace->module_->allocate(64);
  if (!parameters) return parameters.diags();
  const std::array<float, 1> iterations = {kIterations};
  pace->module_->write({*parameters, 0}, std::as_bytes(std::span(iterations)));
  pace->burst_.kernel = 0;
  pace->burst_.arguments = {{*out, 0}, {*parameters, 0}};
  for (int u = 0; u < units; ++u) pace->burst_.queues.push_back({u, u, u + 1});
  return pace;
}

Result<bool> Pace::slow(const runtime::CancelToken* cancel) {
  const std::vector<runtime::Launch> twice(2, burst_);  // the first one wakes the units
  const auto ran = module_->run(twice, {1, 0, cancel});
  if (!ran) return ran.diags();
  latest_ = ran->steps[0][1];
  if (best_ <= 0 || latest_ < best_) best_ = latest_;
  return latest_ > kSlow * best_;
}

double Pace::rate() const { return latest_ > 0 ? double{kIterations} * probe::op_steps(kChains) / latest_ : 0; }

Diags Pace::wait(const runtime::CancelToken* cancel) {
  for (double here = 0; here < kPatience && waited_ < kAllPatience;) {
    const Result<bool> s = slow(cancel);
    if (!s) return s.diags();
    if (!*s) return {};
    std::this_thread::sleep_for(kNap);
    const double nap = std::chrono::duration<double>(kNap).count();
    here += nap;
    waited_ += nap;
  }
  return {};
}

}  // namespace assay::toolkit
