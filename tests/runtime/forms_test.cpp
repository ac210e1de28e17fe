// Multiply-adds in every form of the device's dialect compute the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/dialect.h"
#include "runtime/source.h"
#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;

// y = x * x + 0.25, and x * 3 + x: of vectors, and with a scalar operand.
Kernel multiply_adds(int64_t n) {
  return elementwise("multiply_adds", n, [](const Value& v) {
    const Value first = op(ValueOp::fma, {v, v, constant_of(0.25, v.lanes)});
    return op(ValueOp::fma, {first, constant_of(3, v.lanes), v});
  });
}

TEST(Forms, compute_the_same) {
  Host host;
  const DeviceInfo& info = host.device().info();
  const std::string name = dialect_of(info);
  const auto dialect = codegen::parse_dialect(codegen::dialect_text(name), name);
  ASSERT_TRUE(dialect.ok()) << render(dialect.diags());
  if (!dialect->forms.contains("fma")) GTEST_SKIP() << name << " has one form of everything";
  constexpr int64_t kElements = 1009;
  const std::vector<float> x = host.random(kElements);
  for (const codegen::Form& form : dialect->forms.at("fma")) {
    SCOPED_TRACE(form.name);
    hwdesc::Target target;
    target.api.forms = {{"fma.f32", form.name}};
    const auto module =
        host.device().load(std::vector{multiply_adds(kElements)}, target, host.options());
    ASSERT_TRUE(module.ok()) << render(module.diags());
    const auto y = Host::run(**module, 0, {x, Host::poison(kElements)})[1];
    for (size_t i = 0; i < y.size(); ++i) {
      const double d = x[i];
      ASSERT_NEAR(y[i], (d * d + 0.25) * 3 + d, 4e-6) << i;
    }
  }
}

TEST(Forms, unknown_ones_are_refused) {
  Host host;
  hwdesc::Target target;
  target.api.forms = {{"fma.f32", "no_such_form"}};
  const auto module = host.device().load(std::vector{multiply_adds(16)}, target, host.options());
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(render(module.diags()), ::testing::HasSubstr("forms.fma.f32: dialect "));
}

}  // namespace
}  // namespace assay::runtime
