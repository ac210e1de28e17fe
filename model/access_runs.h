// The order in which a nest touches the rows of its streams, as prefetchers and the sets of a
// core's nearest cache see it. Internal to model/.
#pragma once

#include <cstddef>
#include <vector>

#include "model/machine.h"
#include "model/streams.h"

namespace assay::model {

class AccessRuns {  // invariant: refers to things that outlive it
 public:
  // `shapes`: footprints, [stream][depth].
  AccessRuns(const ir::Program& p, const Streams& s, const Machine& m, double line,
             const std::vector<std::vector<Footprint>>& shapes);

  // Bytes that a stream touches in a row before the nest jumps. Rows that are walked interleaved,
  // each a line or more, end where their neighbours began. Prefetchers follow only a few of them.
  double prefetchable_run(size_t i) const;

  // Does the code prefetch the stream (lower's TileBody::emit_prefetch)?
  bool prefetched(size_t i) const;

  // Of lines that the code prefetches some rows ahead, the part that is evicted before its use,
  // since so many rows of a stride conflict in a set. They are fetched a second time.
  double prefetches_evicted_before_use(size_t i, const Level& cache) const;

  // The same of what the hardware prefetches of interleaved rows.
  double evicted_prefetches(size_t i, const Level& cache) const;

  // Rows that the nest walks interleaved before it advances along them by a line or more.
  const Footprint& interleaved_rows(size_t i) const;

  // Of `bytes` that enter or leave a cache, lines of rows that share a few of its sets. Each set
  // takes one line after the other. A core that looks ahead has several columns of few rows under
  // way, in sets of their own.
  double set_conflicts(size_t i, double bytes, const Level& cache) const;
  double set_conflicts(const Footprint& f, double bytes, const Level& cache) const;

  // Do the rows of the innermost tile need more room than they have bytes?
  bool has_set_conflicts(size_t i, const Level& cache) const;

 private:
  // Prefetchers follow strides as they follow contiguous bytes.
  const std::vector<Footprint>& prefetched_shape(size_t i) const;

  const ir::Program& p_;
  const Streams& s_;
  const Machine& m_;
  const double line_;
  const std::vector<std::vector<Footprint>>& shapes_;
  // The same with the gaps between the positions that are read; empty: there are none.
  std::vector<std::vector<Footprint>> spans_;
};

}  // namespace assay::model
