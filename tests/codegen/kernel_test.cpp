// Loop kernels: verify, the listing, the hash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernels.h"

namespace assay::ir {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

TEST(Kernel, the_listing) {
  EXPECT_EQ(print_kernel(copy(100)),
            "kernel copy, 2 groups\n"
            "  buffer x: f32[100]\n"
            "  buffer y: f32[100] written\n"
            "  for i < min(4, -4*group + 7)\n"
            "    if 0 <= 64*group + 16*i <= 95\n"
            "      y[64*group + 16*i] = f32x16 x[64*group + 16*i]\n"
            "    else\n"
            "      y[64*group + 16*i] for 4 = f32x16 x[64*group + 16*i] for 4 else 0\n");
}

TEST(Kernel, hand_made_ones_verify) {
  for (const Kernel& k : {copy(100), matmul_tile(14, 2, 8, 3), rotate(4, 3)})
    EXPECT_EQ(render(verify(k)), "");
}

TEST(Kernel, verify_names_every_fault) {
  const auto faults = [](const std::function<void(Kernel&)>& change) {
    Kernel k = matmul_tile(2, 1, 8, 3);
    change(k);
    return render(verify(k));
  };
  EXPECT_THAT(faults([](Kernel& k) { k.body.erase(k.body.begin()); }),
              HasSubstr("register 'c' is used where it is not declared"));
  EXPECT_THAT(faults([](Kernel& k) { k.body.push_back(k.body[0]); }),
              HasSubstr("register 'c' is declared twice"));
  EXPECT_THAT(faults([](Kernel& k) { k.body.push_back(loop(1, 3, {})); }),
              HasSubstr("index variable 'k' is bound twice"));
  EXPECT_THAT(faults([](Kernel& k) { k.body.push_back(store(2, variable(1), constant_of(0, 1))); }),
              HasSubstr("index variable 'k' is used where it is not bound"));
  EXPECT_THAT(faults([](Kernel& k) { k.body.push_back(store(0, {}, constant_of(0, 1))); }),
              HasSubstr("'A' is stored to but not marked"));
  EXPECT_THAT(faults([](Kernel& k) { k.body.push_back(store(7, {}, constant_of(0, 1))); }),
              HasSubstr("there is no buffer 7"));
  EXPECT_THAT(faults([](Kernel& k) { k.body.push_back(assign(0, constant_of(0, 4))); }),
              HasSubstr("has 16 lanes and is assigned 4"));
  EXPECT_THAT(faults([](Kernel& k) { k.body.push_back(store(2, {}, load(0, {}, 4, 5))); }),
              HasSubstr("a load of 5 elements into 4 lanes"));
  EXPECT_THAT(faults([](Kernel& k) {
                k.body.push_back(store(2, {}, op(ValueOp::add, {constant_of(0, 4)})));
              }),
              HasSubstr("an operation with 1 operands, expected 2"));
}

TEST(Kernel, barriers_need_uniform_control_flow) {
  const auto faults = [](const std::function<void(Kernel&)>& change) {
    Kernel k = rotate(4, 3);
    change(k);
    return render(verify(k));
  };
  const auto only = [](Index index) {
    return Stmt{If{{{std::move(index), 0, 1}}, {{Barrier{}}}, {}}};
  };
  EXPECT_EQ(faults([&](Kernel& k) { k.body.push_back(only(variable(0))); }), "");
  EXPECT_THAT(faults([&](Kernel& k) { k.body.push_back(only(variable(1))); }),
              HasSubstr("a barrier in divergent control flow"));
  EXPECT_THAT(faults([&](Kernel& k) {
                k.index_names.emplace_back("row");
                k.body.push_back(let(3, variable(1, 2) + 1));
                k.body.push_back(only(variable(3)));
              }),
              HasSubstr("a barrier in divergent control flow"));
  EXPECT_THAT(faults([&](Kernel& k) {
                k.index_names.emplace_back("n");
                k.body.push_back(loop(3, 4, {{Barrier{}}}, 0, {variable(1)}));
              }),
              HasSubstr("a barrier in divergent control flow"));
  EXPECT_THAT(faults([](Kernel& k) { k.wave = -1; }),
              HasSubstr("a group of 3 waves, which have no numbers"));
  EXPECT_NE(hash_of(rotate(4, 3)), [] {
    Kernel k = rotate(4, 3);
    k.waves = 2;
    return hash_of(k);
  }());
}

TEST(Kernel, the_hash_sees_numbers_where_names_repeat) {
  const Kernel a = matmul_tile(2, 1, 8, 3);
  EXPECT_EQ(hash_of(a), hash_of(matmul_tile(2, 1, 8, 3)));
  Kernel b = a;  // the accumulators share a name; swap two of them in one store
  std::get<Store>(b.body.back().node).value.id = 0;
  EXPECT_EQ(print_kernel(a), print_kernel(b));
  EXPECT_NE(hash_of(a), hash_of(b));
}

}  // namespace
}  // namespace assay::ir
