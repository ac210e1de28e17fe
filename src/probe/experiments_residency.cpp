// Groups under way at once, by registers and memory; registers of a thread.
#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/residency.h"

namespace assay::probe {
namespace {

constexpr int kMostMeeting = 1 << 14;
constexpr int kLooksLonger = 4;      // times as long: were the last ones only late?
constexpr double kLate = 1.02;
constexpr int kTimesTogether = 8;    // that all of as many as fit must have met
constexpr double kSimulatedLook = 4e-6, kLook = 1e-3;

class Meeting {
 public:
  explicit Meeting(Session& s) : s_(s), out_(s.bench.allocate(kMostMeeting * 4)), counter_(s.bench.allocate(64)) {}

  // Of `groups`, how many the first to leave had seen.
  int least_seen(const std::string& kernel, int groups, int64_t looks) {
    const int32_t none = 0;
    s_.bench.module().write({counter_, 0}, std::as_bytes(std::span<const int32_t>(&none, 1)));
    const runtime::Launch l = s_.bench.launch(job_of(kernel, groups), looks);
    s_.bench.run({&l, 1});
    std::vector<int32_t> seen(static_cast<size_t>(groups));
    s_.bench.module().read({out_, 0}, std::as_writable_bytes(std::span<int32_t>(seen)));
    return *std::min_element(seen.begin(), seen.end());
  }

  // All that are under way at once; 0: as many as were tried.
  int at_once(const std::string& kernel, int first) {
    const int64_t looks = s_.bench.amount_for(kernel, job_of(kernel, 1));
    for (int groups = first; groups <= kMostMeeting; groups *= 2) {
      int least = least_seen(kernel, groups, looks);
      for (int64_t longer = looks * kLooksLonger; least < groups; longer *= kLooksLonger) {
        const int again = least_seen(kernel, groups, longer);
        const bool late = again > kLate * least && longer < 64 * looks;
        least = std::max(least, again);
        if (!late) break;
      }
      if (least < groups) return least;
    }
    return 0;
  }

  void emit(const std::string& what, Conditions at, double value) { s_.emit({"residency", what, std::move(at), "1", {value}, {}, 0, {}}); }

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

  Session& s_;
  int out_, counter_;
};

void meet_all(Session& s, Meeting& meeting, int groups) {
  const int64_t looks = kLooksLonger * s.bench.amount_for(meet_name() + " all", [&] {
    Job job;
    job.kernel = meet_name();
    job.arguments = {{s.bench.allocate(kMostMeeting * 4), 0}, {s.bench.allocate(64), 0}};
    job.most = kMaxIterations;
    job.target_s = s.device.simulated ? kSimulatedLook : kLook;
    return job;
  }());
  for (int i = 0; i < kTimesTogether; ++i)
    meeting.emit("together", {{"groups", groups}}, meeting.least_seen(meet_name(), groups, looks));
}

}  // namespace

void run_residency(Session& s) {
  Meeting meeting(s);
  if (!s.device.threads) return meet_all(s, meeting, s.device.units);
  const int first = std::max(2, static_cast<int>(s.known.units));
  const int plain = meeting.at_once(meet_name(), first);
  meeting.emit("plain", {}, plain);
  if (plain > 0) meet_all(s, meeting, plain);
  for (const int part : kMemoryParts)
    if (s.bench.has(meet_memory(part)))
      meeting.emit("memory", {{"bytes", static_cast<double>(shape_of(s.device).group_bytes / part)}}, meeting.at_once(meet_memory(part), first));
  for (const int n : kLiveMeeting) {
    const int64_t reported = s.bench.registers(meet_registers(n));
    meeting.emit("registers", {{"live", n}, {"reported", static_cast<double>(reported)}}, meeting.at_once(meet_registers(n), first));
  }
}

// A wave alone.
void run_registers(Session& s) {
  if (!s.device.threads) return;
  const int out = s.bench.allocate(kSlots * kSlotFloats * 4);
  for (const int n : kLive) {
    const Conditions at = {{"live", n}};
    if (const int64_t bytes = s.bench.stack_bytes(live_name(n)); bytes >= 0) s.emit({"registers", "stack", at, "B", {double(bytes)}, {}, 0, {}});
    if (const int64_t used = s.bench.registers(live_name(n)); used >= 0) s.emit({"registers", "reported", at, "1", {double(used)}, {}, 0, {}});
  }
  s.rounds(kLive.size(), [&](size_t i) {
    Job job;
    job.kernel = live_name(kLive[i]);
    job.arguments = {{out, 0}};
    job.work = kLiveRounds * kLive[i];
    job.most = kMaxIterations;
    job.target_s = 0.2e-3;
    s.emit(s.bench.measure("registers", "live", {{"live", kLive[i]}}, job));
  });
}

}  // namespace assay::probe
