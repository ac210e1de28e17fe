#include "probe/errand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "probe/inference/doubts.h"
#include "probe/inference/forms.h"
#include "probe/journal.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/pages.h"
#include "probe/opened_device.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

std::string fresh_kernels(std::span<const ir::Kernel> all) {
  std::set<std::string> seen;
  std::vector<std::string> out;
  for (const Experiment& e : experiments()) {
    int fresh = 0;
    for (const ir::Kernel& k : kernels_of(e, all)) fresh += seen.insert(k.name).second ? 1 : 0;
    out.push_back(fmt::format("{} {}", e.name, fresh));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

constexpr double kPasses = 0.1, kGolden = 0.618;  // s at most; part of it from one to the next
constexpr int64_t kFewTicks = 1000;

// A simulated neighbour comes and goes by simulated time, which begins anew in each process.
// Between experiments time passes, too, or each would begin with the neighbour.
void let_time_pass(Bench& bench, size_t experiments) {
  double whole = 0;
  const double seconds = kPasses * std::modf(kGolden * static_cast<double>(experiments), &whole);
  const Job tick = bench.sentinel_job(1, seconds);
  const runtime::Launch few = bench.launch(tick, kFewTicks);
  const double each = bench.run({&few, 1}).at(0) / static_cast<double>(kFewTicks);
  const runtime::Launch rest =
      bench.launch(tick, std::min(tick.most, static_cast<int64_t>(seconds / each)));
  bench.run({&rest, 1});
}

}  // namespace

std::string run_errand(const Errand& errand, const Send& send) {
  const double opening = now_seconds();
  const Experiment& e = errand.experiment;
  const ProbeOptions& options = errand.options;
  const Observations& earlier = errand.earlier;
  auto device = OpenedDevice::open(errand.device, options.cache_dir);
  if (!device) fail(device.diags());
  static std::optional<OpenedDevice> opened;  // closed with the process
  opened = std::move(device).value();
  if (options.before) options.before();
  const std::vector<ir::Kernel> kernels =
      kernels_of(e, opened->kernels, has_neighbours(opened->info()));
  const auto module = opened->load(kernels, false, unusual_forms(earlier));
  if (!opened->info().simulated) launch_all(*module, kernels);  // drivers build the rest now
  Bench bench(*module, kernels, opened->info());
  runtime::DeviceInfo info = opened->info();
  const int64_t most =
      std::min({options.max_bytes, info.memory_bytes / 8, bench.largest_buffer() / kPage * kPage});
  const auto seed = static_cast<uint64_t>(earlier.endings.size());
  info.units = std::min<int>(info.units, static_cast<int>(kSlots));
  const auto one_by_one = [&](std::span<const ir::Kernel> some) {
    return opened->load(some, true, unusual_forms(earlier));
  };
  Session s{bench,
            info,
            earlier,
            known_from(usable_observations(earlier)),
            errand.share,
            errand.rounds,
            0,
            most,
            shape_of(info).lanes,
            kernels,
            one_by_one,
            send,
            std::mt19937_64(seed + 1)};
  bench.limit_loops(s.known.most_iterations);
  if (info.simulated && !info.fact("neighbours").empty())
    let_time_pass(bench, earlier.endings.size());
  if (!s.known.threads && earlier.finished("fma") && earlier.fact(kVectorLanes).empty())
    s.fact(kVectorLanes, std::to_string(s.known.lanes));
  s.load_with_group_size = [&](std::span<const ir::Kernel> some, int threads) {
    runtime::DeviceInfo wide = info;
    wide.widths = {threads};
    return opened->load_for(wide, some, unusual_forms(earlier));
  };
  s.load_in_form = [&](std::span<const ir::Kernel> some, const hwdesc::NamedText& form) {
    return opened->load_for(info, some, {form});
  };
  if (options.beside)
    s.after_block = [&](const Observation& block) {
      options.beside(block, [&](const Observation& o) { send(to_line(o)); });
    };
  s.started = now_seconds();
  s.limit = errand.limit;
  send(to_line(kLoading + std::string(e.name), fmt::format("{:.3f} s", s.started - opening)));
  e.run(s);
  const double took = now_seconds() - s.started;
  send(to_line(kLoading + std::string(e.name),
               fmt::format("{:.3f} s, one round {:.3f} s", s.started - opening,
                           s.first_round > 0 ? s.first_round : took)));
  if (bench.repeated_samples() > 0)
    send(to_line(kDoubted + std::string(e.name),
                 fmt::format("{} of {}", bench.repeated_samples(), bench.samples())));
  return "";
}

std::string load_first_kernels(const std::string& device, const std::string& cache_dir,
                               std::vector<hwdesc::NamedText> forms, const Send& send) {
  auto found = OpenedDevice::open(device, cache_dir);
  if (!found) {
    send_not_opened(found.diags(), send);
    fail(found.diags());
  }
  static std::optional<OpenedDevice> opened;  // closed with the process
  opened = std::move(found).value();
  const std::vector<ir::Kernel> kernels = kernels_of(experiments().front(), opened->kernels);
  const double start = now_seconds();
  const auto module = opened->load(kernels, false, std::move(forms));
  if (!opened->info().simulated) launch_all(*module, kernels);
  send_facts(opened->info(), send);
  send(to_line(kKernels, fresh_kernels(opened->kernels)));
  send(to_line("build_seconds", fmt::format("{:.2f}", now_seconds() - start)));
  return "";
}

}  // namespace assay::probe
