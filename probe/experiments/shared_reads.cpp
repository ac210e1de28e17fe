#include "probe/experiments/shared_reads.h"

#include <vector>

#include "probe/experiments/experiments.h"
#include "probe/inference/footprint.h"
#include "probe/sampling/passes.h"

namespace assay::probe {
std::optional<SharedReads> SharedReads::make(Session& s) {
  if (!has_peer_units(s) || s.known.levels.knees.size() < 2) return std::nullopt;
  SharedReads out;
  out.level_ = s.known.levels.knees.size() - 1;
  const std::optional<int64_t> bytes = footprint_within(s.known.levels, out.level_, 1);
  if (!bytes) return std::nullopt;
  out.blocks_ = *bytes / kBlockBytes;
  out.between_ = static_cast<int64_t>(kEvictionFactor * s.known.levels.knees[out.level_ - 1].to) /
                     kBlockBytes +
                 1;
  out.buffer_ = s.bench.allocate(*bytes);
  out.others_ = s.bench.allocate(out.between_ * kBlockBytes);
  return out;
}

void SharedReads::measure(Session& s, const std::string& experiment, bool other,
                          int samples) const {
  const auto pass = [&](int unit, const char* access, int of, int64_t n) {
    return s.bench.launch(unit_pass(s, unit, access, of, n), 1);
  };
  const std::vector<runtime::Launch> list = {
      pass(0, "write", buffer_, blocks_), pass(0, "read", buffer_, blocks_),
      pass(0, "read", others_, between_), pass(other ? 1 : 0, "read", buffer_, blocks_)};
  const auto bytes = static_cast<double>(blocks_ * kBlockBytes);
  Observation o{experiment,
                other ? "other" : "own",
                {{"level", static_cast<double>(level_)}, {"bytes", bytes}},
                "s",
                {},
                {},
                0,
                {}};
  for (int i = 0; i < samples; ++i)
    s.bench.sample(o, [&] { return s.bench.run(list).back() / bytes; });
  s.emit(o);
}

void run_shared_reads(Session& s) {
  const std::optional<SharedReads> shared_reads = SharedReads::make(s);
  if (!shared_reads) return;
  constexpr int kSamples = 6;
  s.rounds(2, [&](size_t by) { shared_reads->measure(s, "shared_reads", by != 0, kSamples); });
}

}  // namespace assay::probe
