// Kernels of memory access: independent chases, vectors across lines, rewriting.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using ir::DType;

// Chain c of a group: p = state[slot, c]; iterations: p = nodes[p], one hop of each chain after the
// other; state[slot, c] = p.
ir::Kernel chases(int chains) {
  ir::Kernel k = code::empty(chases_name(chains));
  const int nodes = code::add_buffer(k, "nodes", DType::i64, false);
  const int state = code::add_buffer(k, "state", DType::i64, true),
            parameters = code::add_parameters(k);
  const ir::Index slot = ir::variable(0, kMostChases);
  std::vector<int> p;
  for (int c = 0; c < chains; ++c)
    p.push_back(code::add_register(k, fmt::format("p{}", c), DType::i64, 1));
  k.body.push_back(code::declare(p.front(), chains));
  for (int c = 0; c < chains; ++c)
    k.body.push_back(code::set(p[size_t(c)], code::load(state, slot + c, DType::i64, 1)));
  ir::Block hops;
  for (const int r : p) {
    ir::Value hop = code::apply(ir::ValueOp::indirect, {code::reg(k, r)});
    hop.id = nodes;
    hops.push_back(code::set(r, hop));
  }
  ir::Block body;
  code::repeat(body, hops_per_chain(chains), hops);
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i");
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(body)));
  for (int c = 0; c < chains; ++c)
    k.body.push_back(code::store(state, slot + c, code::reg(k, p[size_t(c)])));
  return k;
}

// passes: one vector of every kStraddleBytes, or of every vector where that is longer: in its first
// bytes, or across its end.
ir::Kernel vectors(const std::string& name, int lanes, bool across) {
  constexpr int64_t kAtOnce = 4;
  ir::Kernel k = code::empty(name);
  code::add_buffer(k, "from", DType::f32, false);
  const int parameters = code::add_parameters(k),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(value, 1));
  const int64_t stretch = std::max<int64_t>(kStraddleBytes / 4, lanes),
                steps = kStraddleArea / 4 / stretch / kAtOnce;
  const int64_t offset = !across ? 0 : lanes < stretch ? stretch - lanes / 2 : 1;
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), part = code::add_index(k, "part");
  ir::Block body;
  for (int64_t n = 0; n < kAtOnce; ++n) {
    body.push_back(code::set(
        value, code::load(0, ir::variable(part, stretch * kAtOnce) + (n * stretch + offset),
                          DType::f32, lanes)));
    body.push_back(code::keep(value));
  }
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count),
                              {code::loop(part, steps, ir::constant(steps), std::move(body))}));
  return k;
}

constexpr int64_t kSetsAtOnce = 4;  // vectors

// A loop over as many blocks as the n-th parameter says, which reads or writes each vector of them.
void add_blocks(ir::Kernel& k, ir::Block& to, int parameter, int buffer, int value, bool writes) {
  const int lanes = k.registers[static_cast<size_t>(value)].lanes,
            suffix = static_cast<int>(k.index_names.size());
  const int block = code::add_index(k, fmt::format("block{}", suffix)),
            part = code::add_index(k, fmt::format("part{}", suffix));
  const int64_t parts = rewrite_loops(lanes) - 1;
  ir::Block body;
  for (int64_t n = 0; n < kSetsAtOnce; ++n) {
    const ir::Index at =
        ir::variable(block, kBlockBytes / 4) + ir::variable(part, lanes * kSetsAtOnce) + n * lanes;
    if (writes) {
      body.push_back(code::store(buffer, at, code::reg(k, value)));
    } else {
      body.push_back(code::set(value, code::load(buffer, at, DType::f32, lanes)));
      body.push_back(code::keep(value));
    }
  }
  to.push_back(code::loop(block, kBlocks, ir::variable(parameter),
                          {code::loop(part, parts, ir::constant(parts), std::move(body))}));
}

// passes: reads blocks of `from`, then of `to`, writes those of `to`, reads them again. Parameters
// say how many of each.
ir::Kernel rewrite(int lanes) {
  ir::Kernel k = code::empty(rewrite_name(lanes));
  const int from = code::add_buffer(k, "from", DType::f32, false),
            to = code::add_buffer(k, "to", DType::f32, true);
  const int parameters = code::add_parameters(k),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(value, 1));
  k.body.push_back(code::set(value, code::opaque(code::number(1.37, DType::f32, lanes))));
  std::array<int, 5> told{};
  int n = 0;
  for (const char* name : {"passes", "others", "before", "written", "after"}) {
    told[size_t(n)] =
        code::parameter(k, name, parameters, ir::constant(n), n == 0 ? kMaxPasses : kBlocks);
    ++n;
  }
  const int pass = code::add_index(k, "pass");
  ir::Block body;
  add_blocks(k, body, told[1], from, value, false);
  add_blocks(k, body, told[2], to, value, false);
  add_blocks(k, body, told[3], to, value, true);
  add_blocks(k, body, told[4], to, value, false);
  k.body.push_back(code::loop(pass, kMaxPasses, ir::variable(told[0]), std::move(body)));
  return k;
}

}  // namespace

int64_t rewrite_loops(int lanes) { return 1 + kBlockBytes / 4 / lanes / kSetsAtOnce; }

std::string rewrite_name(int lanes) { return fmt::format("rewrite_{}", lanes); }

std::string vectors_name(int lanes, bool across) {
  return fmt::format("{}_{}", across ? "across" : "within", lanes);
}

int64_t vectors_of(int lanes) {
  return kStraddleArea / std::max<int64_t>(kStraddleBytes, int64_t{lanes} * 4);
}

std::string chases_name(int chains) { return fmt::format("chases_{}", chains); }

int hops_per_chain(int chains) { return std::max(1, kChaseSteps / chains); }

void add_access_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  for (const int lanes : shape.lanes) to.push_back(rewrite(lanes));
  for (const int lanes : shape.lanes)
    for (const bool across : {false, true})
      to.push_back(vectors(vectors_name(lanes, across), lanes, across));
  for (const int chains : kChases) to.push_back(chases(chains));
}

}  // namespace assay::probe
