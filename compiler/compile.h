// Graph -> Plan, asking only the model. compile.cpp reads as the list of its passes: canonicalise,
// fold, fuse elementwise, split reductions, choose layouts, form tile-graphs, construct, place,
// schedule.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/search/tile_graphs.h"
#include "hwdesc/target.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "model/estimate.h"
#include "support/result.h"

namespace assay::compiler {

// What one step computes together: one node each; chains of elementwise nodes behind the first one;
// whatever the model says is faster together; whatever can be computed together, for tests.
enum class Fuse { none, elementwise, all, always };

struct Options {
  Fuse fuse = Fuse::all;
  int keep = 2;  // best programs per tile-graph that are lowered and counted again
  Schedule schedule = Schedule::automatic;  // where the chip's units can run groups side by side
  // Bytes that arena and weights may take on the device. What does not fit lies in host memory and
  // is streamed (stream/stream.h). nullopt: there is no limit.
  std::optional<int64_t> memory = {};
  std::function<void(int done, int total, const std::string& what)> progress;  // may be empty
  const std::atomic<bool>* cancel = nullptr;
  ForEach each = {};  // programs are estimated by it
};

struct Compiled {
  ir::Plan plan;
  // Logical row-major values of the plan's constant tensors, by position in plan.tensors (others
  // are empty): the toolkit packs them into their layouts.
  std::vector<ir::Constant> constants;
  // Per step, in the state the caches are in at that point; per transfer; and the whole plan (terms
  // summed).
  std::vector<model::Estimate> estimates, transfers;
  model::Estimate total;
  // Per step: the fastest programs by other instructions of the chip, with their times.
  std::vector<std::vector<std::string>> lost;
  // Tile-graphs that were tried together, and what was saved or why not; a line each.
  std::vector<std::string> considered;
  Scheduled scheduled;
  // Estimated bytes over each boundary of the memories: of the plan, and of its tile-graphs as
  // steps of their own (empty: they are).
  std::vector<model::LevelUse> traffic, separate_traffic;
  // Of a plan for a limit of memory, how it is streamed: a line per segment.
  std::vector<std::string> streamed;
  // What was considered, for people: programs evaluated and how many were left out and why.
  int64_t evaluated = 0, pruned = 0;
};

// Errors: a node that no program can compute (named), cancelled, a target without the numbers the
// model needs; a limit of memory that is too small (names the node, and what would fit).
Result<Compiled> compile(const ir::Graph& graph, const hwdesc::Target& target,
                         const Options& options);

// What the passes before construction make of a graph, for judging the model on its tile-graphs.
// Errors: a target without the numbers the model needs.
Result<TileGraphs> tile_graphs_of(const ir::Graph& graph, const hwdesc::Target& target);

// The tensor expression of `matmul m=1000 n=777 k=513` and its like: one-operator graphs with
// inputs for all operands (weights of convolutions are constants filled by a counter-based
// generator). `type=bf16` gives all tensors that type, and weights are inputs then. Errors: unknown
// operator (names those there are), unknown or missing parameter, unknown type.
Result<ir::Graph> parse_operator(const std::string& text);
std::vector<std::string> operator_names();

// All f32 tensors in another type, for estimates: constants become inputs. Errors: no type of
// numbers that operators have.
Diags give_type(ir::Graph& g, const std::string& type);

// The same operator as kernels compute it. Of i8, constants stay constants and sums are i32.
// Errors: also operators that are not computed in whole numbers.
Result<ir::Graph> operator_for_kernels(const std::string& text);
Diags give_whole_type(ir::Graph& g);  // f32 becomes i8, sums i32
Diags sum_in_i32(ir::Graph& g);       // sums of i8 become i32

}  // namespace assay::compiler
