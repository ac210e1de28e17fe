#include "tests/fuzz/targets.h"

#include "compiler/import/import_onnx.h"
#include "hwdesc/canonical.h"
#include "hwdesc/check.h"
#include "hwdesc/library.h"
#include "hwdesc/print.h"
#include "hwdesc/show.h"
#include "ir/plan.h"
#include "ir/program.h"

namespace assay::fuzz {

namespace {

// A result without a value must hold an error, and its messages must render.
template <class T>
bool answered(const Result<T>& r) {
  if (r.ok()) return true;
  ASSAY_CHECK(has_error(r.diags()));
  ASSAY_CHECK(!render(r.diags()).empty());
  return false;
}

void profile(std::string_view bytes) {
  const auto p = hwdesc::parse_profile(bytes, "fuzz.yaml", hwdesc::library_profile);
  if (!answered(p)) return;
  const std::string text = hwdesc::print_profile(*p);
  const auto again = hwdesc::parse_profile(text, "printed.yaml", hwdesc::no_library);
  ASSAY_CHECK(again.ok());
  ASSAY_CHECK(*again == hwdesc::canonical(*p));
  ASSAY_CHECK(hwdesc::print_profile(*again) == text);
  hwdesc::check(*p);
  hwdesc::rows(*p);
}

void program(std::string_view bytes) {
  const auto p = ir::parse_program(bytes, "fuzz.yaml");
  if (!answered(p)) return;
  const std::string text = ir::print_program(*p);
  const auto again = ir::parse_program(text, "printed.yaml");
  ASSAY_CHECK(again.ok());
  ASSAY_CHECK(ir::print_program(*again) == text);
}

void plan(std::string_view bytes) {
  const auto p = ir::parse_plan(bytes, "fuzz.yaml");
  if (!answered(p)) return;
  const std::string text = ir::print_plan(*p);
  const auto again = ir::parse_plan(text, "printed.yaml");
  ASSAY_CHECK(again.ok());
  ASSAY_CHECK(ir::print_plan(*again) == text);
}

void onnx(std::string_view bytes) {
  import::OnnxOptions options;
  options.max_constant_bytes = int64_t{1} << 20;
  options.max_fold_points = 1e5;
  const auto g = import::import_onnx(std::as_bytes(std::span(bytes)), "fuzz.onnx", options);
  if (answered(g)) ASSAY_CHECK(!has_error(ir::verify(*g)));
}

constexpr Target kTargets[] = {
    {"profile", profile}, {"program", program}, {"plan", plan}, {"onnx", onnx}};

}  // namespace

std::span<const Target> targets() { return kTargets; }

}  // namespace assay::fuzz
