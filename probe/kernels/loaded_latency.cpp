// The kernel of a chase beside streams.
#include "probe/kernels/loaded_latency.h"

#include <fmt/format.h>

#include <utility>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

using ir::DType;

constexpr int64_t kBetweenRests = 8;  // vectors

// A parameter that is read within a block of statements.
int parameter_in(ir::Kernel& k, ir::Block& to, const char* name, int buffer, ir::Index n,
                 int64_t limit) {
  const int var = code::add_index(k, name);
  to.push_back({ir::Locate{var, buffer, std::move(n), limit + 1}});
  return var;
}

ir::Block chase_part(ir::Kernel& k, int nodes, int state, int p, int parameters) {
  ir::Block out, body;
  const int hops = parameter_in(k, out, "hops", parameters, ir::constant(0), kMaxIterations),
            i = code::add_index(k, "hop");
  ir::Value hop = code::apply(ir::ValueOp::indirect, {code::reg(k, p)});
  hop.id = nodes;
  code::repeat(body, kLoadedHops, {code::set(p, hop)});
  out.push_back(code::set(p, code::load(state, ir::constant(0), DType::i64, 1)));
  out.push_back(code::loop(i, kMaxIterations, ir::variable(hops), std::move(body)));
  out.push_back(code::store(state, ir::constant(0), code::reg(k, p)));
  return out;
}

ir::Block stream_part(ir::Kernel& k, int from, int value, int x, int parameters) {
  const int lanes = k.registers[static_cast<size_t>(value)].lanes;
  ir::Block out;
  const int passes = parameter_in(k, out, "passes", parameters, ir::constant(1), kMaxPasses);
  const int blocks = parameter_in(k, out, "blocks", parameters, ir::constant(2), kBlocks);
  const int rest = parameter_in(k, out, "rest", parameters, ir::constant(3), kMaxIterations);
  const int first = parameter_in(k, out, "first", parameters, ir::variable(0) + 3,
                                 kBlocks * (kBlockBytes / kPlaceBytes));
  const int pass = code::add_index(k, "pass"), block = code::add_index(k, "block"),
            part = code::add_index(k, "part"), step = code::add_index(k, "iteration");
  ir::Block additions, body;
  code::repeat(
      additions, kRestSteps,
      {code::set(x, code::apply(ir::ValueOp::add, {code::reg(k, x), code::reg(k, x + 1)}))});
  for (int64_t n = 0; n < kBetweenRests; ++n) {
    const ir::Index at = ir::variable(first, kPlaceBytes / 4) +
                         ir::variable(block, kBlockBytes / 4) +
                         ir::variable(part, kBetweenRests * lanes) + n * lanes;
    body.push_back(code::set(value, code::load(from, at, DType::f32, lanes)));
    body.push_back(code::keep(value));
  }
  body.push_back(code::loop(step, kMaxIterations, ir::variable(rest), std::move(additions)));
  const int64_t parts = loaded_parts(lanes);
  ir::Block inner = {code::loop(part, parts, ir::constant(parts), std::move(body))};
  ir::Block whole = {code::loop(block, kBlocks, ir::variable(blocks), std::move(inner))};
  out.push_back(code::loop(pass, kMaxPasses, ir::variable(passes), std::move(whole)));
  out.push_back(code::keep(x));
  return out;
}

ir::Kernel loaded(int lanes) {
  ir::Kernel k = code::empty(loaded_name(lanes));
  const int nodes = code::add_buffer(k, "nodes", DType::i64, false),
            from = code::add_buffer(k, "from", DType::f32, false);
  const int state = code::add_buffer(k, "state", DType::i64, true),
            parameters = code::add_parameters(k);
  const int p = code::add_register(k, "p", DType::i64, 1),
            value = code::add_register(k, "value", DType::f32, lanes);
  const int x = code::add_register(k, "x", DType::f32, 1);
  code::add_register(k, "step", DType::f32, 1);
  k.body.push_back(code::declare(p, 4));
  for (const int r : {x, x + 1})
    k.body.push_back(code::set(r, code::opaque(code::number(1, DType::f32, 1))));
  ir::If who{{{ir::variable(0), 0, 0}}, {}, {}};
  who.then_body = chase_part(k, nodes, state, p, parameters);
  who.else_body = stream_part(k, from, value, x, parameters);
  k.body.push_back({std::move(who)});
  return k;
}

}  // namespace

std::string loaded_name(int lanes) { return fmt::format("loaded_{}", lanes); }

int64_t loaded_parts(int lanes) { return kBlockBytes / 4 / lanes / kBetweenRests; }

void add_loaded_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  for (const int lanes : shape.lanes) to.push_back(loaded(lanes));
}

}  // namespace assay::probe
