// Strips behind each other as one plan, with the transfers between them.
//
// Strips of one graph share its tensors and programs: each begins where the one before has ended.
// Strips of other graphs lie in the same arena, so whatever is cleared once in a plan of its own is
// cleared again where another graph was before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/stream/strip.h"

namespace assay::compiler {

// A strip's graph, compiled and placed on its own. Its inputs and outputs lie on the device only
// while its steps use them.
struct CompiledStrip {
  Compiled made;
  std::vector<int> inputs, outputs;  // plan tensors, in the order of the graph's
  std::vector<bool> kept;            // per input: it lies beside the arena, for all strips
};

// `kept`: per input of the graph.
CompiledStrip alone(Compiled made, const ir::Graph& g, std::vector<bool> kept);

class MergedPlan {  // invariant: refers to a graph that outlives it
 public:
  // `resident`: constants stay on the device; else a segment's are uploaded before its strips.
  MergedPlan(const ir::Graph& g, int64_t memory, bool resident);

  // Strips of one segment follow each other. `made`: of the strip's graph, the same object for
  // equal graphs, which outlives this.
  void begin_segment();
  void add(const Strip& strip, const CompiledStrip& made);
  void end_segment();
  int64_t arena_bytes() const { return out_.plan.arena_bytes; }  // of the segments so far

  Compiled finish();

 private:
  int host_tensor(int t);
  int constant(const ir::PlanTensor& t, const ir::Constant& value);
  int program(const ir::Program& p);
  int kept_input(const ir::PlanTensor& t, int host, const std::vector<int64_t>& begin);
  int for_segment(const std::string& content, const ir::PlanTensor& t, int host,
                  std::vector<int64_t> begin);
  const std::vector<int>& tensors_of(const Strip& strip, const CompiledStrip& s);
  void add_transfers(const Strip& strip, const CompiledStrip& made, const std::vector<int>& ids,
                     int first_step);

  const ir::Graph& g_;
  bool resident_;
  Compiled out_;
  std::map<int, int> host_;                          // by graph tensor
  std::map<std::string, int> constants_, programs_;  // by content
  std::map<std::string, int> weights_;  // of this segment, by content; and inputs that are kept
  std::map<const CompiledStrip*, std::vector<int>> parts_;  // of this segment
  std::vector<int> arena_;                                  // tensors of this segment's strips
  int64_t strip_arena_ = 0;
  size_t first_transfer_ = 0;  // of this segment
  int first_step_ = 0;
  const CompiledStrip* before_ = nullptr;
};

}  // namespace assay::compiler
