#include "probe/inference/infer.h"

#include <cctype>

#include "probe/inference/budget.h"
#include "probe/inference/doubts.h"
#include "probe/inference/path.h"
#include "probe/inference/transfer.h"

namespace assay::probe {
namespace {

// Lower case, words joined by `-`.
std::string profile_name(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u))
      out += static_cast<char>(std::tolower(u));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "probed" : out;
}

}  // namespace

std::string level_name(size_t i, size_t n) {
  return i + 1 == n ? "dram" : "l" + std::to_string(i + 1);
}

Result<hwdesc::Profile> infer(const Observations& raw) {
  const Observations all = usable_observations(raw);
  const Known known = known_from(all);
  if (all.points.empty())
    return error("these observations hold no sample", "let the probe run further: --resume");
  hwdesc::Profile p;
  p.name = profile_name(all.fact("name"));
  p.chip_class = known.threads && all.fact("class") != "cpu" ? "gpu" : "cpu";
  p.source = hwdesc::Origin::measured;
  infer_machine(all, known, p);
  infer_compute(all, known, p);
  add_straddling(all, known, p);
  infer_types(all, known, p);
  infer_conversions(all, known, p);
  infer_forms(all, p);
  infer_matrix(all, known, p);
  infer_atomics(all, known, p);
  infer_residency(all, known, p);
  infer_branches(all, known, p);
  infer_barrier(all, known, p);
  infer_code(all, p);
  infer_power(all, p);
  infer_memory(all, known, p);
  infer_paths(all, known, p);
  note_budget(all, p);
  return p;
}

}  // namespace assay::probe
