// Loads of threads' kernels are grouped, and none moves past a store to its buffer.
#include "lower/early_loads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::lower {
namespace {

ir::Value load(int buffer, int64_t at) {
  ir::Value v;
  v.op = ir::ValueOp::splat;
  v.id = buffer;
  v.index = ir::constant(at);
  v.count = 1;
  return v;
}

ir::Value reg(int id) {
  ir::Value v;
  v.op = ir::ValueOp::reg;
  v.id = id;
  return v;
}

ir::Value apply(ir::ValueOp op, std::vector<ir::Value> args) {
  ir::Value v;
  v.op = op;
  v.args = std::move(args);
  return v;
}

ir::Kernel kernel(ir::Block body, int registers) {
  ir::Kernel k;
  k.buffers = {{"a", ir::DType::f32, 64}, {"b", ir::DType::f32, 64, ir::Scope::global, true}};
  for (int i = 0; i < registers; ++i) k.registers.push_back({"r" + std::to_string(i)});
  k.body = std::move(body);
  bring_loads_forward(k);
  return k;
}

// d: declares, l: loads, a: other assignments, s: stores.
std::string order_of(const ir::Block& block) {
  std::string out;
  for (const ir::Stmt& s : block) {
    if (std::get_if<ir::Declare>(&s.node))
      out += 'd';
    else if (std::get_if<ir::Store>(&s.node))
      out += 's';
    else if (const auto* a = std::get_if<ir::Assign>(&s.node))
      out += a->value.op == ir::ValueOp::splat ? 'l' : 'a';
    else
      out += '?';
  }
  return out;
}

ir::Stmt sum(int to, ir::Value v) {
  return {ir::Assign{to, apply(ir::ValueOp::add, {reg(to), std::move(v)})}};
}

ir::Stmt store(int buffer, int64_t at, ir::Value v) {
  ir::Store s;
  s.id = buffer;
  s.index = ir::constant(at);
  s.count = 1;
  s.value = std::move(v);
  return {std::move(s)};
}

TEST(EarlyLoads, StandBeforeWhatUsesThem) {
  const ir::Kernel k = kernel({sum(0, load(0, 1)),
                               sum(0, load(0, 2)),
                               {ir::Declare{{1}}},
                               {ir::Assign{1, load(0, 3)}},
                               sum(0, reg(1))},
                              2);
  EXPECT_EQ(order_of(k.body), "dlllaaa");
  EXPECT_EQ(k.registers.size(), 4u);
}

TEST(EarlyLoads, OneThatAnOperationTakesTwiceIsOne) {
  const ir::Kernel k =
      kernel({{ir::Assign{0, apply(ir::ValueOp::mul, {load(0, 1), load(0, 1)})}}}, 1);
  EXPECT_EQ(order_of(k.body), "dla");
  const auto& product = std::get<ir::Assign>(k.body[2].node).value;
  EXPECT_EQ(product.args[0], product.args[1]);
}

TEST(EarlyLoads, OfOnePlaceAreOneUntilItIsWritten) {
  EXPECT_EQ(order_of(kernel({sum(0, load(0, 1)), sum(1, load(0, 1))}, 2).body), "dlaa");
  EXPECT_EQ(order_of(kernel({sum(0, load(0, 1)), store(1, 0, reg(0)), sum(1, load(0, 1))}, 2).body),
            "dlasa")
      << "another buffer is written";
  EXPECT_EQ(order_of(kernel({sum(0, load(1, 1)), store(1, 1, reg(0)), sum(1, load(1, 1))}, 2).body),
            "dlasa")
      << "stays where it is";
  ir::For loop;
  loop.limit = 4;
  loop.body = {store(0, 1, reg(0))};
  EXPECT_EQ(order_of(kernel({sum(0, load(0, 1)), {loop}, sum(1, load(0, 1))}, 2).body), "dla?dla")
      << "the loop writes it";
  ir::Block body;
  for (int i = 0; i < 40; ++i) body.push_back(sum(0, load(0, i % 10)));
  EXPECT_EQ(order_of(kernel(body, 1).body), "d" + std::string(10, 'l') + std::string(40, 'a'))
      << "not so many as to be issued in several batches";
}

TEST(EarlyLoads, DoNotPassAStoreToTheirBuffer) {
  EXPECT_EQ(order_of(kernel({store(1, 0, reg(0)), {ir::Assign{1, load(1, 0)}}}, 2).body), "sl");
  EXPECT_EQ(order_of(kernel({store(1, 0, reg(0)), sum(1, load(1, 0))}, 2).body), "sa");
  EXPECT_EQ(order_of(kernel({store(1, 0, reg(0)), {ir::Assign{1, load(0, 0)}}}, 2).body), "ls")
      << "another buffer";
}

TEST(EarlyLoads, DoNotWriteWhatIsStillRead) {
  EXPECT_EQ(order_of(kernel({{ir::Assign{0, load(0, 0)}},
                             sum(1, reg(0)),
                             {ir::Assign{0, load(0, 1)}},
                             sum(1, reg(0))},
                            2)
                         .body),
            "lala");
}

TEST(EarlyLoads, AreAtMostSixteenTogether) {
  ir::Block body;
  for (int i = 0; i < 20; ++i) body.push_back(sum(0, load(0, i)));
  EXPECT_EQ(order_of(kernel(body, 1).body), "d" + std::string(16, 'l') + std::string(16, 'a') +
                                                "d" + std::string(4, 'l') + std::string(4, 'a'));
}

TEST(EarlyLoads, StayInsideOfLoops) {
  ir::For loop;
  loop.limit = 4;
  loop.body = {sum(0, load(0, 1)), sum(0, load(0, 2))};
  const ir::Kernel k = kernel({sum(0, load(0, 0)), {loop}}, 1);
  EXPECT_EQ(order_of(k.body), "dla?");
  EXPECT_EQ(order_of(std::get<ir::For>(k.body.back().node).body), "dllaa");
}

}  // namespace
}  // namespace assay::lower
