#include "compiler/stream/cuts.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "compiler/passes/place.h"
#include "compiler/passes/rewrite.h"

namespace assay::compiler {

namespace {

constexpr int kHopeless = 8;     // longer segments in a row that do not fit: no others are tried
constexpr int64_t kAligned = 8;  // a height is a multiple of a power of two of at least 1/16 of it

size_t at(int i) { return static_cast<size_t>(i); }

bool contains(const std::vector<int>& v, int x) {
  return std::find(v.begin(), v.end(), x) != v.end();
}

// Many heights would be as good. Of those the one that is divisible most often: reads with strides
// then begin at the same places in all strips, which are one graph.
int64_t step_of(int64_t height) {
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, height / kAligned))));
}

}  // namespace

Cuts::Cuts(const ir::Graph& g, const model::Machine& m, std::vector<double> seconds)
    : g_(g),
      m_(m),
      seconds_(std::move(seconds)),
      maker_(g.tensors.size(), -1),
      last_reader_(g.tensors.size(), -1),
      windowed_(g.tensors.size(), false),
      joined_(g.nodes.size(), -1) {
  std::vector<int> readers(g.tensors.size(), 0);
  const int count = static_cast<int>(g.nodes.size());
  for (int i = 0; i < count; ++i) {
    const ir::Node& n = g.nodes[at(i)];
    maker_[at(n.output)] = i;
    for (const ir::Read& r : n.reads) {
      if (last_reader_[at(r.tensor)] != i) ++readers[at(r.tensor)];
      last_reader_[at(r.tensor)] = i;
      if (r.guarded && n.combine != ir::Combiner::none) windowed_[at(r.tensor)] = true;
    }
  }
  for (const int t : g.outputs) last_reader_[at(t)] = count;
  for (int i = 0; i < count; ++i) {
    const int made = g.nodes[at(i)].output, reader = last_reader_[at(made)];
    if (readers[at(made)] != 1 || reader >= count || !ir::is_elementwise(g.nodes[at(reader)]))
      continue;
    const auto& reads = g.nodes[at(reader)].reads;
    const bool same = std::all_of(reads.begin(), reads.end(), [&](const ir::Read& r) {
      return r.tensor != made ||
             (is_identity(g, r) &&
              g.tensors[at(made)].shape == g.tensors[at(g.nodes[at(reader)].output)].shape);
    });
    if (same) joined_[at(i)] = reader;
  }
}

int Cuts::last_output(const Segment& s) const { return g_.nodes[at(s.end - 1)].output; }

int64_t Cuts::bytes_of(int tensor, const Region& r) const {
  return elements(r) * ir::bytes_of(g_.tensors[at(tensor)].dtype);
}

Regions Cuts::outputs_of(const Cut& c, int64_t strip) const {
  Regions out;
  const int64_t whole_extent =
                    c.dim < 0 ? 1 : g_.tensors[at(last_output(c.segment))].shape[at(c.dim)],
                begin = c.dim < 0 ? 0 : strip * c.height,
                end = c.dim < 0 ? 1 : std::min(whole_extent, begin + c.height);
  for (const auto& [t, dim] : c.outputs) {
    Region r = whole(g_.tensors[at(t)]);
    if (dim < 0 && strip > 0) continue;
    if (dim >= 0) {  // as large a part of it as of the last one
      const int64_t extent = g_.tensors[at(t)].shape[at(dim)];
      r[at(dim)] = {begin * extent / whole_extent, end * extent / whole_extent - 1};
      if (r[at(dim)].low > r[at(dim)].high) continue;
    }
    out.emplace(t, std::move(r));
  }
  return out;
}

Regions Cuts::regions_of(const Cut& c, int64_t strip, bool resident) const {
  return compiler::regions_of(g_, c.segment, outputs_of(c, strip), resident);
}

Cut Cuts::whole_cut(const Segment& s) const {
  Cut c;
  c.segment = s;
  for (int i = s.begin; i < s.end; ++i)
    if (const int t = g_.nodes[at(i)].output; last_reader_[at(t)] >= s.end)
      c.outputs.emplace_back(t, -1);
  return c;
}

void Cuts::set_height(Cut& c, int64_t height) const {
  const int64_t extent = g_.tensors[at(last_output(c.segment))].shape[at(c.dim)];
  c.height = std::min(height, extent);
  c.strips = (extent + c.height - 1) / c.height;
}

Regions Cuts::row_of(const Cut& c, int64_t row) const {
  const int last = last_output(c.segment);
  Region r = whole(g_.tensors[at(last)]);
  r[at(c.dim)] = {row, row};
  return compiler::regions_of(g_, c.segment, {{last, std::move(r)}}, true);
}

// The other outputs are cut where the last one's strips read them; those that it does not need,
// along the same dimension.
void Cuts::cut_others(Cut& c) const {
  const int last = last_output(c.segment);
  const ir::Tensor& driver = g_.tensors[at(last)];
  const int64_t rows = driver.shape[at(c.dim)];
  const Regions needed = row_of(c, rows / 2), first = row_of(c, 0), end = row_of(c, rows - 1);
  for (const auto& [t, region] : needed) {
    const auto same = [&](const Regions& r) {
      const auto found = r.find(t);
      return found != r.end() && found->second == region;
    };
    if (maker_[at(t)] < c.segment.begin && g_.tensors[at(t)].constant < 0 && same(first) &&
        same(end))
      c.kept.push_back(t);
  }
  for (auto& [t, dim] : c.outputs) {
    const ir::Tensor& tensor = g_.tensors[at(t)];
    if (t == last) {
      dim = c.dim;
    } else if (const auto found = needed.find(t); found != needed.end()) {
      const Region all = whole(tensor);
      for (int d = static_cast<int>(all.size()); d-- > 0;)
        if (found->second[at(d)] != all[at(d)]) dim = d;
    } else if (tensor.shape.size() == driver.shape.size() && tensor.shape[at(c.dim)] > 1) {
      dim = c.dim;
    }
  }
}

// The largest sum of what lies on the device at once, while the nodes run in order.
int64_t Cuts::peak(const Cut& c, const Regions& regions, const Regions& outputs,
                   bool resident) const {
  const Segment& s = c.segment;
  const auto is_joined = [&](int n) {
    const int made = g_.nodes[at(n)].output;
    return joined_[at(n)] >= 0 && joined_[at(n)] < s.end && !outputs.contains(made);
  };
  std::vector<int> step(at(s.end - s.begin));  // an epilogue runs with the node before it
  for (int n = s.end - 1; n >= s.begin; --n)
    step[at(n - s.begin)] = is_joined(n) ? step[at(joined_[at(n)] - s.begin)] : n - s.begin;
  std::vector<int64_t> change(step.size() + 1, 0);
  int64_t always = 0;
  for (const auto& [t, region] : regions) {
    const bool constant = g_.tensors[at(t)].constant >= 0;
    const int64_t bytes = room_for(bytes_of(t, region));
    const int made = maker_[at(t)];
    const bool weights = constant && compiler::is_whole(region, g_.tensors[at(t)]),
               kept = contains(c.kept, t);
    if (!weights || !resident) always += weights || kept ? bytes : 0;
    if (weights) continue;
    if (made >= s.begin && is_joined(made)) continue;
    int first = made >= s.begin ? step[at(made - s.begin)] : -1, last = first;
    for (int n = s.begin; n < s.end; ++n) {
      const ir::Node& node = g_.nodes[at(n)];
      if (!regions.contains(node.output) ||
          std::none_of(node.reads.begin(), node.reads.end(),
                       [&](const ir::Read& r) { return r.tensor == t; }))
        continue;
      const int reads = step[at(n - s.begin)];
      if (first < 0) first = reads;
      last = std::max(last, reads);
    }
    // Vectors read windows with padding, which shares its storage with no other tensor. What the
    // segment makes is written there, other tensors are copied.
    if (windowed_[at(t)] && !m_.simt) {
      always += bytes;
      if (made >= s.begin && !outputs.contains(t)) continue;
    }
    if (kept) continue;
    change[at(std::max(0, first))] += bytes;
    change[at(std::max(0, last) + 1)] -= bytes;
  }
  int64_t now = 0, most = 0;
  for (const int64_t bytes : change) most = std::max(most, now += bytes);
  return most + always;
}

Cuts::Price Cuts::price(const Cut& c, int64_t strip, bool resident) const {
  const Regions outputs = outputs_of(c, strip),
                regions = compiler::regions_of(g_, c.segment, outputs, resident);
  const model::HostLink& link = *m_.host_link;
  Price out;
  const auto upload = [&](double bytes) {
    return link.latency.value + bytes / link.to_device.value;
  };
  for (const auto& [t, region] : regions) {
    const auto bytes = static_cast<double>(bytes_of(t, region));
    const int made = maker_[at(t)];
    if (g_.tensors[at(t)].constant >= 0 && compiler::is_whole(region, g_.tensors[at(t)])) {
      if (!resident) out.weights_seconds += upload(bytes);
    } else if (made < c.segment.begin) {
      (contains(c.kept, t) ? out.weights_seconds : out.seconds) += upload(bytes);
    } else {
      const ir::Node& n = g_.nodes[at(made)];
      const double part = static_cast<double>(elements(region)) /
                          static_cast<double>(ir::elements(g_.tensors[at(n.output)]));
      if (seconds_[at(made)] > 0) out.seconds += seconds_[at(made)] * part + m_.launch.value;
    }
    if (outputs.contains(t)) out.seconds += link.latency.value + bytes / link.from_device.value;
  }
  out.bytes = peak(c, regions, outputs, resident);
  return out;
}

// Strips between the first and the last are taken as the middle one.
void Cuts::price_all(Cut& c, bool resident) const {
  const Price middle = price(c, c.strips / 2, resident);
  c.bytes = middle.bytes;
  c.seconds = middle.seconds * static_cast<double>(std::max<int64_t>(1, c.strips - 2)) +
              middle.weights_seconds;
  if (c.strips == 1) return;
  for (const int64_t k : {int64_t{0}, c.strips - 1}) {
    const Price end = price(c, k, resident);
    c.bytes = std::max(c.bytes, end.bytes);
    c.seconds += end.seconds;
  }
  if (c.strips == 2) c.seconds -= middle.seconds;
}

int64_t Cuts::expected(const Cut& c, const Limits& limits) const {
  const auto found = limits.measured.find({c.segment.begin, c.segment.end, c.dim});
  double factor = 0;
  for (int n = c.segment.begin; n < c.segment.end && !limits.by_node.empty(); ++n)
    factor += limits.by_node[at(n)] / (c.segment.end - c.segment.begin);
  if (limits.by_node.empty()) factor = 1;
  if (found != limits.measured.end()) factor = found->second;
  return static_cast<int64_t>(static_cast<double>(c.bytes) * factor);
}

std::optional<Cut> Cuts::cut_along(const Segment& s, int dim, const Limits& limits) const {
  Cut c = whole_cut(s);
  c.dim = dim;
  cut_others(c);
  const auto fits = [&](int64_t height) {
    set_height(c, height);
    c.bytes = price(c, c.strips / 2, limits.resident).bytes;
    return expected(c, limits) <= limits.room;
  };
  if (!fits(1)) return std::nullopt;
  int64_t low = 1, high = g_.tensors[at(last_output(s))].shape[at(dim)];
  while (low + 1 < high) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  const int64_t extent = g_.tensors[at(last_output(s))].shape[at(dim)], step = step_of(low),
                most = low / step * step, strips = (extent + most - 1) / most,
                even = (extent + strips - 1) / strips;
  set_height(c, std::min(most, (even + step - 1) / step * step));
  price_all(c, limits.resident);
  return c;
}

std::optional<Cut> Cuts::best_of(const Segment& s, const Limits& limits) const {
  Cut all = whole_cut(s);
  price_all(all, limits.resident);
  if (expected(all, limits) <= limits.room) return all;
  std::optional<Cut> best;
  const std::vector<int64_t>& shape = g_.tensors[at(last_output(s))].shape;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (shape[at(d)] < 2) continue;
    std::optional<Cut> c = cut_along(s, d, limits);
    if (c && (!best || c->seconds < best->seconds)) best = std::move(c);
  }
  return best;
}

std::vector<Cut> Cuts::best(const Limits& limits) const {
  const size_t count = g_.nodes.size();
  std::vector<double> seconds(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::optional<Cut>> last(count + 1);
  seconds[0] = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && !last[i]) continue;
    int failed = 0;
    for (size_t j = i + 1; j <= (limits.alone ? i + 1 : count) && failed < kHopeless; ++j) {
      std::optional<Cut> c = best_of({static_cast<int>(i), static_cast<int>(j)}, limits);
      failed = c ? 0 : failed + 1;
      if (!c || seconds[i] + c->seconds >= seconds[j]) continue;
      seconds[j] = seconds[i] + c->seconds;
      last[j] = std::move(c);
    }
  }
  std::vector<Cut> out;
  for (size_t j = count; j > 0; j = at(out.back().segment.begin)) {
    if (!last[j]) return {};
    out.push_back(*last[j]);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Cut> Cuts::smallest(const Limits& limits) const {
  std::vector<Cut> out;
  for (int i = 0; i < static_cast<int>(g_.nodes.size()); ++i) {
    const Segment alone{i, i + 1};
    out.push_back(whole_cut(alone));
    price_all(out.back(), limits.resident);
    const std::vector<int64_t>& shape = g_.tensors[at(last_output(alone))].shape;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      if (shape[at(d)] < 2) continue;
      Cut along = whole_cut(alone);
      along.dim = d;
      cut_others(along);
      set_height(along, 1);
      price_all(along, limits.resident);
      if (expected(along, limits) < expected(out.back(), limits)) out.back() = std::move(along);
    }
    out.back().bytes = expected(out.back(), limits);
  }
  return out;
}

}  // namespace assay::compiler
