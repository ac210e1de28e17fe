// What a unit reads of another one's cache, what it loses to another one's prefetches, and what all
// lose to others than the device.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
namespace {

constexpr double kHeld = 0.5;  // of a capacity: the writer still has all of it
constexpr int kPairs = 4;      // of a launch that writes and one that reads, in a sample
constexpr double kIdle[] = {0.03e-3, 0.3e-3, 1e-3, 3e-3, 10e-3, 30e-3};  // s; the first one is none
constexpr double kBeyondCached = 8;  // times that, what is fresh again when it comes round

}  // namespace

// Every unit writes its part of a buffer, and then reads or writes the part of the one `over`
// places further; 0: its own. Where it was read, writing it again takes it back from who read it.
void run_coherence(Session& s) {
  const std::optional<size_t> level = s.known.own_cache();
  const int units = s.device.units;
  if (!has_others(s) || !level) return;
  const int64_t blocks = std::max<int64_t>(
      1, static_cast<int64_t>(kHeld * s.known.levels.knees[*level].from) / kBlockBytes);
  const int buffer = s.bench.allocate(units * blocks * kBlockBytes);
  const auto launch = [&](const char* access, size_t over) {
    runtime::Launch out = s.bench.launch(pass_over(s, access, buffer, blocks), 1);
    for (ir::Queue& q : out.queues) q.unit = (q.unit + units - static_cast<int>(over)) % units;
    std::sort(out.queues.begin(), out.queues.end(),
              [](const ir::Queue& a, const ir::Queue& b) { return a.unit < b.unit; });
    return out;
  };
  s.rounds(4, [&](size_t turn) {
    const size_t over = turn % 2;
    const bool reads = turn < 2;
    std::vector<runtime::Launch> list;
    for (int i = 0; i < kPairs; ++i)
      list.insert(list.end(), {launch("write", 0), launch(reads ? "read" : "write", over)});
    const auto observation = [&](std::string what) {
      if (over == 0) what += " own";
      return Observation{"coherence",
                         what,
                         {{"level", double(*level)}, {"bytes", double(blocks * kBlockBytes)}},
                         "s",
                         {},
                         {},
                         0,
                         {}};
    };
    // Of all launches of a run, the first, third, ...: first 0; the others: first 1. Seconds per
    // byte.
    const auto sample = [&](Observation o, size_t first) {
      for (int i = 0; i < 6; ++i)
        s.bench.sample(o, [&] {
          const std::vector<double> times = s.bench.run(list);
          double sum = 0;
          for (size_t t = first; t < times.size(); t += 2) sum += times[t];
          return sum / kPairs / static_cast<double>(blocks * kBlockBytes);
        });
      s.emit(o);
    };
    sample(observation(reads ? "dirty_remote_read" : "dirty_remote_rfo"), 1);
    if (reads) sample(observation("upgrade"), 0);
  });
}

// Every unit writes runs, all at once: those of two units one behind the other, and each unit's in
// rows of its own, with as much between them that nobody touches. Seconds per run.
void run_false_sharing(Session& s) {
  const std::optional<size_t> level = s.known.own_cache();
  const int units = s.device.units;
  if (!has_others(s) || !level) return;
  const int64_t rows = std::max<int64_t>(
      16, static_cast<int64_t>(kHeld * s.known.levels.knees[*level].from) / (2 * kEndBytes));
  const int64_t part = rows * 2 * kEndBytes + kBlockBytes;
  const int buffer = s.bench.allocate(units * part);
  s.rounds(2, [&](size_t turn) {
    const bool side_by_side = turn == 0;
    Job job;
    job.kernel = access_name("ends_write", s.lanes.back());
    job.arguments = {{buffer, 0}};
    job.groups = units;
    job.work = static_cast<double>(rows);
    job.most = kMaxPasses;
    job.parameters = [=](int64_t passes) {
      std::vector<double> out = {static_cast<double>(passes), static_cast<double>(rows)};
      for (int64_t u = 0; u < units; ++u)
        out.push_back(static_cast<double>(
            (side_by_side ? u / 2 * part + u % 2 * kEndBytes : u * part) / kPlaceBytes));
      return out;
    };
    s.emit(s.bench.measure("false_sharing", side_by_side ? "between" : "own",
                           {{"level", double(*level)}}, job));
  });
}

// Every unit writes what only the last cache will hold, reads other bytes that drive it out of the
// caches before that one, and reads it for the first time behind so many bytes that all units read,
// or behind so many seconds in which they only add: what was driven out of the last cache meanwhile
// takes as long as far memory. The same of bytes that it has read and written from there a few
// times before: some caches keep their places. Seconds per byte of all.
void run_retention(Session& s) {
  const size_t n = s.known.levels.knees.size();
  if (s.device.threads || s.device.simulated || n < 2)
    return;  // nobody knows which unit a group is on; nobody else uses simulated ones
  const int units = s.device.units;
  const KneePoint& before = s.known.levels.knees[n - 2];
  const auto part = std::max<int64_t>(1, static_cast<int64_t>(kHeld * before.from) / kBlockBytes),
             hot = static_cast<int64_t>(kDrivesOut * before.to) / kBlockBytes + 1;
  const int64_t room = std::min(
      s.max_bytes,
      std::max<int64_t>(int64_t{256} << 20, static_cast<int64_t>(kBeyondCached * s.known.cached)));
  const int buffer = s.bench.allocate(room);
  Way way(room);  // so long that no cache knows what comes next
  const auto pass = [&](const char* access, int64_t blocks, int64_t first) {
    return s.bench.launch(pass_over(s, access, buffer, blocks, first), 1);
  };
  const int again = s.bench.allocate(units * part * kBlockBytes);
  const auto own = [&](const char* access) {
    return s.bench.launch(pass_over(s, access, again, part), 1);
  };
  const runtime::Launch drives_out =
      s.bench.launch(pass_over(s, "read", s.bench.allocate(units * hot * kBlockBytes), hot), 1);
  const std::vector<int64_t> between = passing_blocks(s.known, units, part, way.blocks());
  // Of as long a time each, whatever the clock did when the others were measured.
  const auto adding = [&](double seconds) {
    const Job job = s.bench.sentinel_job(units, kIdle[1]);
    const int64_t some = s.bench.amount_for("retention", job);
    const runtime::Launch measured = s.bench.launch(job, some);
    return s.bench.launch(
        job, std::min(job.most, static_cast<int64_t>(static_cast<double>(some) * seconds /
                                                     s.bench.run({&measured, 1}).at(0)) +
                                    1));
  };
  const size_t once = std::size(kIdle) + between.size();  // then those that were used before
  s.rounds(once + between.size(), [&](size_t turn) {
    const bool pause = turn < std::size(kIdle), used = turn >= once;
    const int64_t passing = pause ? 0 : between[turn - (used ? once : std::size(kIdle))];
    const runtime::Launch idle = pause ? adding(kIdle[turn]) : runtime::Launch{};
    Observation o{"retention",
                  pause  ? "pause"
                  : used ? "reused"
                         : "single_use",
                  {{"part", double(part * kBlockBytes)}, {"units", double(units)}},
                  "s",
                  {},
                  {},
                  0,
                  {}};
    pause ? o.at["idle"] = kIdle[turn]
          : o.at["bytes"] = static_cast<double>(units * passing * kBlockBytes);
    for (int i = 0; i < 3; ++i)
      s.bench.sample(o, [&] {
        if (used) {
          const runtime::Launch others = pass("read", passing, way.next(units * passing));
          const std::vector<runtime::Launch> list = {own("write"), drives_out,   own("read"),
                                                     drives_out,   own("write"), drives_out,
                                                     others,       own("read")};
          return s.bench.run(list).back() / static_cast<double>(units * part * kBlockBytes);
        }
        const int64_t mine = way.next(units * part);
        const std::vector<runtime::Launch> list = {
            pass("write", part, mine), drives_out,
            pause ? idle : pass("read", passing, way.next(units * passing)),
            pass("read", part, mine)};
        return s.bench.run(list).back() / static_cast<double>(units * part * kBlockBytes);
      });
    s.emit(o);
  });
}

}  // namespace assay::probe
