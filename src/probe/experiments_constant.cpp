// A chase through constants, beside the same through plain memory.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>
#include <vector>

#include "probe/access_path.h"
#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/own_kernels.h"

namespace assay::probe {
namespace {

constexpr int64_t kSmallest = 256;       // bytes
constexpr double kPerOctave = 2;
constexpr double kTarget = 0.15e-3;

int64_t constants_of(const Session& s) {
  for (const auto& [name, text] : s.device.facts)
    if (name == "constant_memory") return std::min<int64_t>(kMostConstants, std::atoll(text.c_str()));
  return 0;
}

class Chase {
 public:
  Chase(Session& s, ir::Space space, int64_t bytes, int lanes) : s_(s), what_(space == ir::Space::plain ? "plain" : "chase"), lanes_(lanes),
      own_(s, {path_chase(space, bytes / 4, lanes)}), nodes_(own_.bench.allocate(bytes)), state_(own_.bench.allocate(std::max<int64_t>(64, int64_t{lanes} * 4))), all_(bytes / 4) {}

  // `apart`: every lane begins at a node of its own.
  void measure(int64_t bytes, bool apart) {
    const int64_t nodes = bytes / kPathStride;
    const std::vector<int32_t> order = write(nodes);
    std::vector<int32_t> state(static_cast<size_t>(lanes_), order[0]);
    for (size_t l = 0; apart && l < state.size(); ++l) state[l] = order[l % order.size()];
    own_.bench.module().write({state_, 0}, std::as_bytes(std::span(state)));
    Job job;
    job.kernel = "path_chase";
    job.arguments = {{nodes_, 0}, {state_, 0}};
    job.work = kPathHops;
    job.most = kMaxIterations;
    job.target_s = kTarget;
    const runtime::Launch pass = own_.bench.launch(job, nodes / kPathHops + 1);
    for (int i = 0; i < 2; ++i) own_.bench.run({&pass, 1});
    check(order);
    const Conditions at = apart || whole_ ? Conditions{{"bytes", double(bytes)}, {"apart", apart ? 1.0 : 0.0}} : Conditions{{"bytes", double(bytes)}};
    s_.emit(own_.bench.measure("constant", apart || whole_ ? "lanes" : what_, at, job));
  }
  void of_lanes() { whole_ = true; }

 private:
  // A random single cycle, whose order is returned.
  std::vector<int32_t> write(int64_t nodes) {
    std::vector<int32_t> order(static_cast<size_t>(nodes)), data(static_cast<size_t>(all_), 0);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i * kPathStride / 4);
    std::shuffle(order.begin(), order.end(), s_.random);
    for (size_t i = 0; i < order.size(); ++i) data[static_cast<size_t>(order[i])] = order[(i + 1) % order.size()];
    own_.bench.module().write({nodes_, 0}, std::as_bytes(std::span(data)));
    return order;
  }
  // Wherever it stands, it stands on a node.
  void check(const std::vector<int32_t>& order) {
    std::vector<int32_t> now(static_cast<size_t>(lanes_));
    own_.bench.module().read({state_, 0}, std::as_writable_bytes(std::span(now)));
    for (const int32_t p : now)
      if (std::find(order.begin(), order.end(), p) == order.end()) fail({error("a chase through constants left its cycle")});
  }

  Session& s_;
  const char* what_;
  int lanes_;
  OwnKernels own_;
  int nodes_, state_;
  int64_t all_;
  bool whole_ = false;
};

}  // namespace

void run_constant(Session& s) {
  const int64_t most = constants_of(s);
  if (most < 4 * kSmallest) return;
  const int lanes = s.device.threads ? s.known.lanes : 1;
  Chase constant(s, ir::Space::constant, most, lanes), plain(s, ir::Space::plain, most, lanes);
  std::vector<int64_t> sizes;
  for (double b = kSmallest; b <= double(most) * 1.001; b *= std::exp2(1 / kPerOctave))
    sizes.push_back(static_cast<int64_t>(b / kPathStride) * kPathStride);
  s.rounds(2 * sizes.size(), [&](size_t i) { (i % 2 == 0 ? constant : plain).measure(sizes[i / 2], false); });
  if (!s.device.threads) return;
  constant.of_lanes();
  for (const bool apart : {false, true}) constant.measure(std::min<int64_t>(most, lanes * kPathStride), apart);
}

}  // namespace assay::probe
