// Compiled code against the interpreter on the same kernels and data: every operation, width, tail
// and access pattern.
#include <gtest/gtest.h>

#include "codegen/interpret.h"
#include "tests/codegen/kernels.h"
#include "tests/runtime/device_barrier.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using Buffers = std::vector<std::vector<float>>;

struct Case {
  Kernel kernel;
  Buffers buffers;
  double relative = 0;  // allowed difference, of |value|
};

void expect_agreement(Host& host, const std::vector<Case>& cases) {
  std::vector<Kernel> kernels;
  for (const Case& c : cases) kernels.push_back(c.kernel);
  const auto module = host.load(kernels);
  ASSERT_NE(module, nullptr);
  for (size_t i = 0; i < cases.size(); ++i) {
    Buffers expected = cases[i].buffers;
    const auto counts = codegen::interpret(cases[i].kernel, expected);
    ASSERT_TRUE(counts.ok()) << render(counts.diags());
    const auto got = Host::run(*module, static_cast<int>(i), cases[i].buffers);
    for (size_t b = 0; b < got.size(); ++b)
      for (size_t e = 0; e < got[b].size(); ++e) {
        const double x = double{expected[b][e]}, y = double{got[b][e]};
        if (std::isnan(x) && std::isnan(y)) continue;
        if (x == y) continue;
        ASSERT_NEAR(y, x, cases[i].relative * std::abs(x))
            << cases[i].kernel.name << " buffer " << b << " element " << e;
      }
  }
}

TEST(Agreement, every_operation) {
  Host host;
  const int64_t n = 203;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, double relative, float low, float high,
                       const std::function<Value(Value)>& f) {
    cases.push_back(
        {elementwise(name, n, f), {host.random(n, low, high), host.poison(n)}, relative});
  };
  const auto half = [](const Value& v) { return constant_of(0.5, v.lanes); };
  const double eps = 1.2e-7;
  add("op_add", 0, -1, 1, [&](Value v) { return op(ValueOp::add, {v, half(v)}); });
  add("op_sub", 0, -1, 1, [&](Value v) { return op(ValueOp::sub, {half(v), v}); });
  add("op_mul", 0, -1, 1, [&](Value v) { return op(ValueOp::mul, {v, v}); });
  add("op_div", 0, 1, 2, [&](Value v) { return op(ValueOp::div, {half(v), v}); });
  add("op_max", 0, -1, 1, [&](Value v) { return op(ValueOp::max, {v, half(v)}); });
  add("op_min", 0, -1, 1, [&](Value v) { return op(ValueOp::min, {v, half(v)}); });
  const bool fuses = tested_device() != "vulkan:0";  // whose fma may be a product and a sum
  add("op_fma", fuses ? 0 : eps, -1, 1, [&](Value v) { return op(ValueOp::fma, {v, v, half(v)}); });
  add("op_neg", 0, -1, 1, [&](Value v) { return op(ValueOp::neg, {v}); });
  add("op_abs", 0, -1, 1, [&](Value v) { return op(ValueOp::abs, {v}); });
  add("op_sqrt", 0, 0, 2, [&](Value v) { return op(ValueOp::sqrt, {v}); });
  add("op_floor", 0, -9, 9, [&](Value v) { return op(ValueOp::floor, {v}); });
  add("op_ceil", 0, -9, 9, [&](Value v) { return op(ValueOp::ceil, {v}); });
  add("op_exp", 3 * eps, -20, 20, [&](Value v) { return op(ValueOp::exp, {v}); });
  add("op_log", 3 * eps, 2, 20, [&](Value v) { return op(ValueOp::log, {v}); });
  add("op_tanh", 4 * eps, -4, 4, [&](Value v) { return op(ValueOp::tanh, {v}); });
  add("op_erf", 4 * eps, -4, 4, [&](Value v) { return op(ValueOp::erf, {v}); });
  add("op_pow", 3 * eps, 0, 3, [&](Value v) {
    return op(ValueOp::pow, {v, op(ValueOp::add, {v, half(v)})});
  });
  add("op_less", 0, -1, 1, [&](Value v) { return op(ValueOp::less, {v, half(v)}); });
  add("op_equal", 0, -1, 1, [&](Value v) {
    return op(ValueOp::equal, {op(ValueOp::floor, {v}), constant_of(0, v.lanes)});
  });
  add("op_select", 0, -1, 1, [&](Value v) {
    return op(ValueOp::select, {op(ValueOp::less, {v, half(v)}), half(v), v});
  });
  add("op_select_number", 0, -1, 1, [&](Value v) {
    return op(ValueOp::select, {op(ValueOp::floor, {v}), half(v), v});
  });
  add("op_opaque", 0, -1, 1, [&](Value v) { return op(ValueOp::opaque, {v}); });
  expect_agreement(host, cases);
}

// y[lanes] = f of x, one group each.
Kernel single(const std::string& name, int lanes, Value value, int count = 0) {
  Kernel k;
  k.name = name;
  k.buffers = {input("x", 400), output("y", 100)};
  k.index_names = {"group"};
  k.body = {store(1, ir::constant(3), std::move(value), count == 0 ? lanes : count)};
  return k;
}

TEST(Agreement, every_width_and_tail) {
  Host host;
  std::vector<Case> cases;
  for (const int lanes : {1, 2, 4, 8, 16, 32, 48}) {
    for (int count = 1; count <= lanes; count += lanes > 16 ? 5 : 1) {
      Value part = load(0, ir::constant(5), lanes, count);
      part.number = -2;
      const std::string id = std::to_string(lanes) + "_" + std::to_string(count);
      cases.push_back({single("load_" + id, lanes, part), {host.random(400), host.random(100)}});
      cases.push_back({single("store_" + id, lanes, load(0, {}, lanes), count),
                       {host.random(400), host.random(100)}});
      Value strided = gather(0, ir::constant(350), -7, lanes, count);
      cases.push_back(
          {single("gather_" + id, lanes, strided), {host.random(400), host.random(100)}});
    }
  }
  expect_agreement(host, cases);
}

TEST(Agreement, scatters_lane_indices_and_streams) {
  Host host;
  Kernel k = single("scatter", 8, load(0, {}, 8), 5);
  std::get<Store>(k.body[0].node).stride = 11;
  Value lanes = constant_of(0, 16);
  lanes.op = ValueOp::lane_index;
  lanes.index = variable(0, 2) + 5;
  lanes.stride = -3;
  Kernel stream = elementwise("stream", 256, [](Value v) { return v; });
  auto& branch = std::get<If>(std::get<For>(stream.body[0].node).body[0].node);
  std::get<Store>(branch.then_body[0].node).hint = CacheHint::stream;
  expect_agreement(host, {{k, {host.random(400), host.random(100)}},
                          {single("lanes", 16, lanes), {host.random(400), host.random(100)}},
                          {stream, {host.random(256), host.poison(256)}}});
}

TEST(Agreement, guards_and_floor_division_over_negative_indices) {
  Host host;
  Kernel k;
  k.name = "padded";  // y[g] = sum over r of x[(g + r - 2) floor/mod ...] inside, 0.25 outside
  k.buffers = {input("x", 10), output("y", 12)};
  k.index_names = {"group", "r", "at"};
  k.groups = 12;
  k.registers = {{"sum", DType::f32, 1}};
  const Index shifted = variable(0) + variable(1) + (-2);
  const Index at = Index{{{1, -1, {shifted}, 2, 0}, {1, -1, {shifted}, 1, 2}}, 0};  // s/2 + s%2
  const Value inside = load(0, variable(2), 1);
  k.body = {
      declare({0}), assign(0, constant_of(0, 1)),
      loop(1, 5,
           {let(2, at),
            assign(0, op(ValueOp::add, {reg(0, 1), guard({{variable(2), 0, 9}, {shifted, 0, 12}},
                                                         inside, constant_of(0.25, 1))}))}),
      store(1, variable(0), reg(0, 1))};
  expect_agreement(host, {{k, {host.random(10), host.poison(12)}}});
}

TEST(Agreement, scratch_reductions_and_nested_bounds) {
  Host host;
  Kernel k;  // rows of a triangle copied to scratch, then summed with 4 lanes and a scalar tail
  k.name = "triangle";
  k.buffers = {input("x", 13 * 13), output("y", 13), scratch("row", 16)};
  k.index_names = {"group", "j", "v", "t"};
  k.groups = 13;
  k.registers = {{"sum", DType::f32, 1}, {"part", DType::f32, 4}};
  const Index length = variable(0) + 1;
  k.body = {loop(1, 16, {store(2, variable(1), constant_of(0, 1))}),
            loop(1 + 2, 13, {store(2, variable(3), load(0, variable(0, 13) + variable(3), 1))}, 1,
                 {length}),
            declare({0, 1}),
            assign(0, constant_of(0, 1)),
            assign(1, constant_of(0, 4)),
            loop(2, 4, {assign(1, op(ValueOp::add, {reg(1, 4), load(2, variable(2, 4), 4)}))}, 4),
            {Keep{1}},
            store(2, {}, reg(1, 4))};
  for (int l = 0; l < 4; ++l)
    k.body.push_back(assign(0, op(ValueOp::add, {reg(0, 1), load(2, ir::constant(l), 1)})));
  k.body.push_back({Prefetch{0, variable(0, 13) + 500}});
  k.body.push_back(store(1, variable(0), reg(0, 1)));
  expect_agreement(host, {{k, {host.random(169), host.poison(13)}}});
}

TEST(Agreement, chases_integers) {
  Host host;
  Kernel k;
  k.name = "chase";
  k.buffers = {{"next", DType::i32, 64, Scope::global, false},
               {"y", DType::i32, 1, Scope::global, true}};
  k.index_names = {"group", "i"};
  k.registers = {{"at", DType::i32, 1}};
  Value at = reg(0, 1), zero = constant_of(0, 1);
  at.dtype = zero.dtype = DType::i32;
  Value next = at;
  next.op = ValueOp::indirect;
  next.id = 0;
  next.args = {at};
  k.body = {declare({0}), assign(0, zero), loop(1, 1000, {assign(0, next)}), store(1, {}, at)};
  std::vector<int32_t> links(64);
  for (int32_t i = 0; i < 64; ++i) links[static_cast<size_t>(i)] = (i + 37) % 64;
  const auto module = host.load({k});
  ASSERT_NE(module, nullptr);
  const int a = module->allocate(256).value(), b = module->allocate(4).value();
  module->write({a, 0}, std::as_bytes(std::span(links)));
  ASSERT_TRUE(module->run(std::vector{Launch{0, {{a, 0}, {b, 0}}, {}}}, {}).ok());
  int32_t end = 0;
  module->read({b, 0}, std::as_writable_bytes(std::span(&end, 1)));
  EXPECT_EQ(end, 1000 * 37 % 64);
}

// No addition to one number is lost, whichever groups run concurrently.
TEST(Agreement, adds_atomically) {
  Host host;
  constexpr int kGroups = 1000;
  Kernel k;
  k.name = "add";
  k.buffers = {{"sums", DType::i32, 5, Scope::global, true}};
  k.index_names = {"group", "i"};
  k.groups = kGroups;
  k.registers = {{"before", DType::i32, 4}};
  Value two = constant_of(2, 4);
  two.dtype = DType::i32;
  k.body = {
      declare({0}),
      loop(1, 100, {{AtomicAdd{0, 0, {}, 0, two}}, {AtomicAdd{-1, 0, ir::constant(1), 1, two}}}, 1),
      {Keep{0}}};
  const auto module = host.load({k});
  ASSERT_NE(module, nullptr);
  const int sums = module->allocate(20).value();
  ASSERT_TRUE(module->run(std::vector{Launch{0, {{sums, 0}}, {}}}, {}).ok());
  std::vector<int32_t> got(5);
  module->read({sums, 0}, std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, (std::vector<int32_t>{kGroups * 100 * 8, kGroups * 200, kGroups * 200,
                                       kGroups * 200, kGroups * 200}));
}

TEST(Agreement, device_barriers_succeed_or_end) {
  Host host;
  expect_barriers([&](const Kernel& k) { return host.load({k}); },
                  host.device().info().simulated && host.device().info().threads);
}

// Largest error in units of the last place of float, against libm in double.
double worst_ulp(Host& host, ValueOp o, double (*reference)(double), const std::vector<float>& x) {
  const int64_t n = static_cast<int64_t>(x.size());
  const auto y = host.run(elementwise("f", n, [&](Value v) { return op(o, {std::move(v)}); }),
                          {x, host.poison(n)})[1];
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = reference(double{x[i]});
    const auto rounded = static_cast<float>(exact);
    const double ulp =
        double{std::nextafter(std::abs(rounded), std::numeric_limits<float>::infinity())} -
        std::abs(double{rounded});
    const double error = std::abs(double{y[i]} - exact) / ulp;
    if (error > worst) worst = error;
    EXPECT_FALSE(std::isnan(y[i])) << x[i];
  }
  return worst;
}

TEST(Accuracy, of_the_vector_functions) {
  Host host;
  const int64_t n = 400'000;
  EXPECT_LT(worst_ulp(host, ValueOp::exp, std::exp, host.random(n, -87, 88)), 2);
  EXPECT_LT(worst_ulp(host, ValueOp::log, std::log, host.random(n, 1e-6f, 4)), 2);
  EXPECT_LT(worst_ulp(host, ValueOp::log, std::log, host.random(n, 0, 1e30f)), 2);
  EXPECT_LT(worst_ulp(host, ValueOp::tanh, std::tanh, host.random(n, -10, 10)), 4);
  EXPECT_LT(worst_ulp(host, ValueOp::tanh, std::tanh, host.random(n, -0.01f, 0.01f)), 4);
  EXPECT_LT(worst_ulp(host, ValueOp::erf, std::erf, host.random(n, -5, 5)), 4);
  EXPECT_LT(worst_ulp(host, ValueOp::erf, std::erf, host.random(n, -0.01f, 0.01f)), 4);
}

TEST(Accuracy, at_the_ends) {
  Host host;
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x(16, 0.0f);
  const auto of = [&](ValueOp o) {
    std::vector<float> in{inf, -inf, nan, 0.0f, -0.0f, 200.0f, -200.0f, 88.7f, -1.0f};
    in.resize(16);
    return host.run(elementwise("f", 16, [&](Value v) { return op(o, {std::move(v)}); }),
                    {in, host.poison(16)})[1];
  };
  const auto e = of(ValueOp::exp), l = of(ValueOp::log), t = of(ValueOp::tanh),
             r = of(ValueOp::erf);
  EXPECT_EQ((std::vector<float>{e[0], e[1], e[3], e[4], e[5], e[6]}),
            (std::vector<float>{inf, 0, 1, 1, inf, 0}));
  EXPECT_EQ((std::vector<float>{l[0], l[3]}), (std::vector<float>{inf, -inf}));
  EXPECT_EQ((std::vector<float>{t[0], t[1], t[3]}), (std::vector<float>{1, -1, 0}));
  EXPECT_EQ((std::vector<float>{r[0], r[1], r[3]}), (std::vector<float>{1, -1, 0}));
  for (const auto& f : {e, l, t, r}) EXPECT_TRUE(std::isnan(f[2]));
  EXPECT_TRUE(std::isnan(l[1]) && std::isnan(l[8]));
}

}  // namespace
}  // namespace assay::runtime
