// Resident groups by registers and scratchpad; registers of a thread.
#include "probe/kernels/residency.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/sampling/own_kernels.h"

namespace assay::probe {
namespace {

constexpr int kMaxGroupsTried = 1 << 14;
constexpr int kPollGrowth = 4;  // times as many polls: were the last groups only late?
constexpr double kLateFactor = 1.02;
constexpr int kCoresidentChecks = 8;  // launches in which all resident groups must arrive
constexpr double kSimulatedPollTime = 4e-6, kPollTime = 1e-3;

class ResidencyTest {
 public:
  ResidencyTest(const Session& s, Bench& bench)
      : s_(s),
        bench_(bench),
        out_(bench.allocate(kMaxGroupsTried * 4)),
        counter_(bench.allocate(64)) {}

  // Arrivals that the first of `groups` groups to leave had counted.
  int min_seen(const std::string& kernel, int groups, int64_t polls) {
    const int32_t none = 0;
    bench_.module().write({counter_, 0}, std::as_bytes(std::span<const int32_t>(&none, 1)));
    const Job job = job_of(kernel, groups);
    const runtime::Launch l = bench_.launch(job, std::min(polls, bench_.most_of(job)));
    bench_.run({&l, 1});
    std::vector<int32_t> seen(static_cast<size_t>(groups));
    bench_.module().read({out_, 0}, std::as_writable_bytes(std::span<int32_t>(seen)));
    return *std::min_element(seen.begin(), seen.end());
  }

  int64_t polls(const std::string& kernel) { return bench_.amount_for(kernel, job_of(kernel, 1)); }

  // Resident groups. 0: as many as were tried.
  int resident_groups(const std::string& kernel, int first) {
    const int64_t few = polls(kernel);
    for (int groups = first; groups <= kMaxGroupsTried; groups *= 2) {
      int least = min_seen(kernel, groups, few);
      for (int64_t longer = few * kPollGrowth; least < groups; longer *= kPollGrowth) {
        const int again = min_seen(kernel, groups, longer);
        const bool late = again > kLateFactor * least && longer < 64 * few;
        least = std::max(least, again);
        if (!late) break;
      }
      if (least < groups) return least;
    }
    return 0;
  }

 private:
  Job job_of(const std::string& kernel, int groups) const {
    Job job;
    job.kernel = kernel;
    job.arguments = {{out_, 0}, {counter_, 0}};
    job.groups = groups;
    job.most = kMaxIterations;
    job.target_s = s_.device.simulated ? kSimulatedPollTime : kPollTime;
    return job;
  }

  const Session& s_;
  Bench& bench_;
  int out_, counter_;
};

void emit(Session& s, const std::string& what, Conditions at, double value) {
  s.emit({"residency", what, std::move(at), "1", {value}, {}, 0, {}});
}

void check_coresident(Session& s, ResidencyTest& test, int groups) {
  const int64_t polls = kPollGrowth * test.polls(meet_kernel_name());
  for (int i = 0; i < kCoresidentChecks; ++i)
    emit(s, "coresident", {{"groups", groups}}, test.min_seen(meet_kernel_name(), groups, polls));
}

// Of a kernel that is built now.
int resident_groups_of(Session& s, const ir::Kernel& kernel, int first, int64_t& registers) {
  OwnKernels own(s, {kernel}, s.known.lanes);
  registers = own.bench.registers(kernel.name);
  ResidencyTest test(s, own.bench);
  return test.resident_groups(kernel.name, first);
}

}  // namespace

void run_residency(Session& s) {
  ResidencyTest test(s, s.bench);
  if (!s.device.threads) return check_coresident(s, test, s.device.units);
  const int first = std::max(2, static_cast<int>(s.known.units)), lanes = s.known.lanes;
  const int plain = test.resident_groups(meet_kernel_name(), first);
  emit(s, "plain", {}, plain);
  if (plain > 0) check_coresident(s, test, plain);
  int64_t registers = -1;
  const int64_t bytes = shape_of(s.device).group_bytes;
  for (const int part : kMemoryParts)
    if (bytes > 0 && !out_of_time(s))
      emit(s, "memory", {{"bytes", static_cast<double>(bytes / part)}},
           resident_groups_of(s, meet_memory_kernel(lanes, part, bytes), first, registers));
  // The largest first: if registers do not matter there, they never do.
  for (auto n = kLiveCoresident.rbegin(); n != kLiveCoresident.rend() && !out_of_time(s); ++n) {
    const int groups = resident_groups_of(s, meet_registers_kernel(lanes, *n), first, registers);
    emit(s, "registers", {{"live", *n}, {"reported", static_cast<double>(registers)}}, groups);
    if (n == kLiveCoresident.rbegin() && groups >= plain) return;
  }
}

// A wave alone.
void run_registers(Session& s) {
  if (!s.device.threads) return;
  std::vector<std::unique_ptr<OwnKernels>> built;
  std::vector<int> live, outs;
  for (const int n : kLive) {
    if (out_of_time(s)) break;
    built.push_back(std::make_unique<OwnKernels>(
        s, std::vector<ir::Kernel>{live_kernel(s.known.lanes, n)}, s.known.lanes));
    Bench& bench = built.back()->bench;
    live.push_back(n);
    outs.push_back(bench.allocate(kSlots * kSlotFloats * 4));
    const Conditions at = {{"live", n}};
    if (const int64_t bytes = bench.stack_bytes(live_name(n)); bytes >= 0)
      s.emit({"registers", "stack", at, "B", {double(bytes)}, {}, 0, {}});
    if (const int64_t used = bench.registers(live_name(n)); used >= 0)
      s.emit({"registers", "reported", at, "1", {double(used)}, {}, 0, {}});
  }
  s.rounds(built.size(), [&](size_t i) {
    Job job;
    job.kernel = live_name(live[i]);
    job.arguments = {{outs[i], 0}};
    job.work = kLiveRounds * live[i];
    job.most = kMaxIterations;
    job.target_s = 0.2e-3;
    s.emit(built[i]->bench.measure("registers", "live", {{"live", live[i]}}, job));
  });
}

}  // namespace assay::probe
