// Groups under way at once, by registers and memory; registers of a thread.
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

constexpr int kMostMeeting = 1 << 14;
constexpr int kLooksLonger = 4;  // times as long: were the last ones only late?
constexpr double kLate = 1.02;
constexpr int kTimesTogether = 8;  // that all of as many as fit must have met
constexpr double kSimulatedLook = 4e-6, kLook = 1e-3;

class Meeting {
 public:
  Meeting(const Session& s, Bench& bench)
      : s_(s),
        bench_(bench),
        out_(bench.allocate(kMostMeeting * 4)),
        counter_(bench.allocate(64)) {}

  // Of `groups`, how many the first to leave had seen.
  int least_seen(const std::string& kernel, int groups, int64_t looks) {
    const int32_t none = 0;
    bench_.module().write({counter_, 0}, std::as_bytes(std::span<const int32_t>(&none, 1)));
    const Job job = job_of(kernel, groups);
    const runtime::Launch l = bench_.launch(job, std::min(looks, bench_.most_of(job)));
    bench_.run({&l, 1});
    std::vector<int32_t> seen(static_cast<size_t>(groups));
    bench_.module().read({out_, 0}, std::as_writable_bytes(std::span<int32_t>(seen)));
    return *std::min_element(seen.begin(), seen.end());
  }

  int64_t looks(const std::string& kernel) { return bench_.amount_for(kernel, job_of(kernel, 1)); }

  // All that are under way at once; 0: as many as were tried.
  int at_once(const std::string& kernel, int first) {
    const int64_t few = looks(kernel);
    for (int groups = first; groups <= kMostMeeting; groups *= 2) {
      int least = least_seen(kernel, groups, few);
      for (int64_t longer = few * kLooksLonger; least < groups; longer *= kLooksLonger) {
        const int again = least_seen(kernel, groups, longer);
        const bool late = again > kLate * least && longer < 64 * few;
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
    job.target_s = s_.device.simulated ? kSimulatedLook : kLook;
    return job;
  }

  const Session& s_;
  Bench& bench_;
  int out_, counter_;
};

void emit(Session& s, const std::string& what, Conditions at, double value) {
  s.emit({"residency", what, std::move(at), "1", {value}, {}, 0, {}});
}

void meet_all(Session& s, Meeting& meeting, int groups) {
  const int64_t looks = kLooksLonger * meeting.looks(meet_name());
  for (int i = 0; i < kTimesTogether; ++i)
    emit(s, "together", {{"groups", groups}}, meeting.least_seen(meet_name(), groups, looks));
}

// Of a kernel that is built now.
int at_once_alone(Session& s, const ir::Kernel& kernel, int first, int64_t& registers) {
  OwnKernels own(s, {kernel}, s.known.lanes);
  registers = own.bench.registers(kernel.name);
  Meeting meeting(s, own.bench);
  return meeting.at_once(kernel.name, first);
}

}  // namespace

void run_residency(Session& s) {
  Meeting meeting(s, s.bench);
  if (!s.device.threads) return meet_all(s, meeting, s.device.units);
  const int first = std::max(2, static_cast<int>(s.known.units)), lanes = s.known.lanes;
  const int plain = meeting.at_once(meet_name(), first);
  emit(s, "plain", {}, plain);
  if (plain > 0) meet_all(s, meeting, plain);
  int64_t registers = -1;
  const int64_t bytes = shape_of(s.device).group_bytes;
  for (const int part : kMemoryParts)
    if (bytes > 0 && !out_of_time(s))
      emit(s, "memory", {{"bytes", static_cast<double>(bytes / part)}},
           at_once_alone(s, meet_memory_kernel(lanes, part, bytes), first, registers));
  // The largest first: if they do not matter, none does.
  for (auto n = kLiveMeeting.rbegin(); n != kLiveMeeting.rend() && !out_of_time(s); ++n) {
    const int groups = at_once_alone(s, meet_registers_kernel(lanes, *n), first, registers);
    emit(s, "registers", {{"live", *n}, {"reported", static_cast<double>(registers)}}, groups);
    if (n == kLiveMeeting.rbegin() && groups >= plain) return;
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
