#include "probe/sampling/cycle.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

constexpr int64_t kElement = 8;

std::vector<int64_t> shuffled(int64_t n, std::mt19937_64& random) {
  std::vector<int64_t> v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), int64_t{0});
  std::shuffle(v.begin(), v.end(), random);
  return v;
}

// Visits nodes block by block, each block in an order of its own: prefetchers learn an order that
// all blocks share.
template <class F>
void visit(const Cycle& c, std::mt19937_64& random, F&& f) {
  const int64_t block = c.block > 0 ? std::min(c.block, c.nodes) : c.nodes;
  std::vector<int64_t> inner = shuffled(block, random);
  for (const int64_t b : shuffled((c.nodes + block - 1) / block, random)) {
    std::shuffle(inner.begin(), inner.end(), random);
    for (const int64_t i : inner)
      if (b * block + i < c.nodes) f(b * block + i);
  }
}

// Nodes at a stride of a page would map to few sets: each is some lines into its page. Consecutive
// nodes use all places equally, whatever address bits choose the sets.
int64_t byte_in_page(const Cycle& c, int64_t node) {
  if (c.spread <= 0) return 0;
  const int64_t places = std::max<int64_t>(1, kPage / c.spread);
  int64_t place = 0;
  for (int64_t rest = node; rest > 0; rest /= places) {
    place ^= rest % places;
    if (places == 1) break;
  }
  return place % places * c.spread;
}

}  // namespace

int64_t byte_of(const Cycle& c, int64_t node) {
  const int64_t drift = c.drift ? node * c.stride / c.nodes / kElement * kElement : 0;
  return c.begin + node * c.stride + byte_in_page(c, node) + drift;
}

Cycle dense_cycle(int64_t bytes, int64_t line) {
  Cycle c;
  c.nodes = std::max<int64_t>(1, bytes / line);
  c.stride = line;
  c.block = std::clamp(bytes / 4, kLocalBytes, kMostLocalBytes) / line;
  return c;
}

Cycle sparse_cycle(int64_t bytes, int64_t line) {
  Cycle c;
  c.stride = 4 * line;
  c.nodes = std::max<int64_t>(1, bytes / c.stride);
  c.block = kMostLocalBytes / 2 / c.stride;
  return c;
}

int64_t write_cycle(Bench& bench, int buffer, const Cycle& cycle, std::mt19937_64& random,
                    std::vector<Extent>* blocks) {
  const int64_t block = cycle.block > 0 ? std::min(cycle.block, cycle.nodes) : cycle.nodes;
  int64_t visited = 0;
  std::vector<runtime::Word> words;
  words.reserve(static_cast<size_t>(cycle.nodes) * (cycle.second > 0 ? 2 : 1));
  int64_t first = -1, previous = -1;
  visit(cycle, random, [&](int64_t node) {
    const int64_t byte = byte_of(cycle, node);
    const int64_t from = node / block * block, nodes = std::min(block, cycle.nodes - from);
    if (blocks != nullptr && visited++ == 0)
      blocks->push_back({cycle.begin + from * cycle.stride, nodes * cycle.stride});
    if (visited == nodes) visited = 0;
    if (first < 0)
      first = byte;
    else
      words.push_back({previous, byte / kElement});
    if (cycle.second > 0) words.push_back({byte, (byte + cycle.second) / kElement});
    previous = byte + cycle.second;
  });
  words.push_back({previous, first / kElement});
  bench.module().write_words(buffer, words);
  return first / kElement;
}

std::vector<int64_t> write_cycles(Bench& bench, int buffer, const Cycle& cycle, int chains,
                                  std::mt19937_64& random) {
  std::vector<runtime::Word> words;
  words.reserve(static_cast<size_t>(cycle.nodes));
  std::vector<int64_t> first, previous;
  size_t chain = 0;
  visit(cycle, random, [&](int64_t node) {
    const int64_t byte = byte_of(cycle, node);
    if (first.size() < static_cast<size_t>(chains)) {
      first.push_back(byte);
      previous.push_back(byte);
      return;
    }
    words.push_back({previous[chain], byte / kElement});
    previous[chain] = byte;
    chain = (chain + 1) % previous.size();
  });
  for (size_t c = 0; c < first.size(); ++c) {
    words.push_back({previous[c], first[c] / kElement});
    first[c] /= kElement;
  }
  bench.module().write_words(buffer, words);
  return first;
}

ChaseArea ChaseArea::make(Bench& bench, int64_t bytes) {
  return {bench.allocate(bytes), bench.allocate(kSlots * 64)};
}

void ChaseArea::start_at(Bench& bench, int slot, int64_t element) const {
  const runtime::Word word{slot * 64, element};
  bench.module().write_words(state, {&word, 1});
}

Job chase_job(const ChaseArea& area, int units, double target_s) {
  Job job;
  job.kernel = "chase";
  job.arguments = {{area.nodes, 0}, {area.state, 0}};
  job.groups = units;
  job.work = kChaseSteps;
  job.most = kMaxIterations;
  job.target_s = target_s;
  job.settles = false;  // every hop is different
  return job;
}

void add_warm_lap(Bench& bench, const runtime::DeviceInfo& device, Job& job, int64_t hops) {
  constexpr int64_t kMostHops = 8192;  // half a MiB of lines of 64 bytes: no first level is larger
  constexpr int64_t kMostHopsOfProcessor = 32768;  // two MiB: hardly a cache of one core's is
  const bool processor = device.fact("class") == "cpu";
  if (!device.threads || device.simulated || hops > (processor ? kMostHopsOfProcessor : kMostHops))
    return;
  const auto hops_per_iteration = static_cast<int64_t>(job.work);
  const int64_t lap = hops / hops_per_iteration + 1;
  job.parameters = [lap](int64_t amount) {
    return std::vector<double>{static_cast<double>(amount + lap)};
  };
  job.most -= lap;
  job.setup_s = bench.setup_time(job);
}

}  // namespace assay::probe
