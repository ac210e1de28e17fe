// Where a graph is cut into segments, and how high their strips are, for a limit of device memory
// (Welder, OSDI'23, section 4: the host as one more level).
//
// Between segments tensors lie in host memory. A segment is computed in strips of its outputs along
// one dimension, or whole. The segments are those with the least sum of estimated times, by dynamic
// programming over the order of nodes:
//
//   strip = sum over nodes of (time * share of its points + launch)
//           + bytes of regions / bandwidth of the link to the host
//
// Halos are computed again by each strip, so they count. Of the heights that fit the largest one is
// taken: it computes the least twice.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/stream/regions.h"
#include "model/machine.h"

namespace assay::compiler {

struct Cut {  // how a segment is computed
  Segment segment;
  int dim = -1;        // of the last node's output, along which strips lie; -1: whole
  int64_t height = 0;  // of a strip of that output
  int64_t strips = 1;
  // Outputs with the dimension along which they are cut; -1: the first strip computes it whole.
  std::vector<std::pair<int, int>> outputs = {};
  // Tensors that all strips read alike: they come to the device once, for all of them.
  std::vector<int> kept = {};
  int64_t bytes = 0;   // of device memory, as expected for the largest strip
  double seconds = 0;  // of all strips
};

struct Limits {
  int64_t room = 0;      // bytes of device memory for a strip
  bool resident = true;  // weights stay on the device, beside `room`; else a segment's are uploaded
  bool alone = false;    // each node is a segment
  // Bytes that compiled strips took over those expected: by nodes and dimension, and the most by
  // node, which other segments of these nodes are expected to take on average.
  std::map<std::tuple<int, int, int>, double> measured = {};
  std::vector<double> by_node = {};
};

class Cuts {  // invariant: refers to a graph and a machine that outlive it
 public:
  // `seconds`: estimated time per node, as it is without a limit. Pre: the machine knows the link
  // to the host.
  Cuts(const ir::Graph& g, const model::Machine& m, std::vector<double> seconds);

  // In the order of nodes; empty: a node is too large.
  std::vector<Cut> best(const Limits& limits) const;
  // Per node the cut of it alone that is expected to need the least memory.
  std::vector<Cut> smallest(const Limits& limits) const;

  // The regions of a strip's outputs, and of all that it needs.
  Regions outputs_of(const Cut& c, int64_t strip) const;
  Regions regions_of(const Cut& c, int64_t strip, bool resident) const;

 private:
  struct Price {
    int64_t bytes = 0;
    double seconds = 0, weights_seconds = 0;  // the latter once for all strips
  };

  Cut whole_cut(const Segment& s) const;
  std::optional<Cut> cut_along(const Segment& s, int dim, const Limits& limits) const;
  std::optional<Cut> best_of(const Segment& s, const Limits& limits) const;
  void set_height(Cut& c, int64_t height) const;
  void cut_others(Cut& c) const;
  Regions row_of(const Cut& c, int64_t row) const;  // what a row of the last output needs
  Price price(const Cut& c, int64_t strip, bool resident) const;
  int64_t peak(const Cut& c, const Regions& regions, const Regions& outputs, bool resident) const;
  void price_all(Cut& c, bool resident) const;
  int64_t expected(const Cut& c, const Limits& limits) const;
  int64_t bytes_of(int tensor, const Region& r) const;
  int last_output(const Segment& s) const;

  const ir::Graph& g_;
  const model::Machine& m_;
  std::vector<double> seconds_;
  std::vector<int> maker_, last_reader_;  // nodes, per tensor; past the last one: an output
  std::vector<bool> windowed_;            // tensors that reductions read with guards
  std::vector<int> joined_;  // per node, the one behind it on whose register tile it stays; -1
};

}  // namespace assay::compiler
