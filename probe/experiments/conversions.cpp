// Loads and stores that convert, beside those that do not.
#include "probe/kernels/conversions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "probe/experiments/experiments.h"
#include "probe/sampling/own_kernels.h"
#include "runtime/source.h"

namespace assay::probe {
namespace {

// Does the language convert elements of the type? Kernels that only move them use its `moved` row.
// Elements that no value holds need a device that stores them.
bool converts_elements(const Session& s, const codegen::Dialect& spoken, ir::DType stored) {
  const auto found = spoken.types.find(stored);
  if (found == spoken.types.end()) return false;
  const codegen::ElementType& row =
      found->second.moved.empty() ? found->second : found->second.moved.front();
  const std::vector<std::string> types = shape_of(s.device).types;
  return row.loaded && row.stored &&
         (!row.memory || std::find(types.begin(), types.end(), ir::name_of(stored)) != types.end());
}

std::vector<Conversion> tried_conversions(const Session& s) {
  const std::string& dialect = runtime::dialect_of(s.device);
  const auto spoken = codegen::parse_dialect(codegen::dialect_text(dialect), dialect);
  std::vector<Conversion> out;
  if (!spoken) return out;
  for (const Conversion& c : conversions(s.device.threads)) {
    if (!converts_elements(s, *spoken, c.stored)) continue;
    const auto same = [&](const Conversion& o) {
      return conversion_name(o) == conversion_name(plain_access(c));
    };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(plain_access(c));
    out.push_back(c);
  }
  return out;
}

Job conversion_job(const Session& s, const Conversion& c, int data, int groups) {
  Job job;
  job.kernel = conversion_kernel_name(c, s.known.lanes);
  job.arguments = {{data, 0}};
  job.groups = groups;
  job.work = double{kConvertedVectors} * groups;
  job.most = kMaxIterations;
  job.loops = kConvertedVectors;
  job.target_s = 0.3e-3;
  return job;
}

}  // namespace

void run_conversions(Session& s) {
  const std::vector<Conversion> tried = tried_conversions(s);
  if (tried.empty()) return;
  std::vector<ir::Kernel> kernels;
  for (const Conversion& c : tried) kernels.push_back(conversion_kernel(c, s.known.lanes));
  OwnKernels own(s, std::move(kernels));
  const int groups = s.device.threads ? s.known.groups : 1;
  const int data = own.bench.allocate(groups * conversion_bytes(s.known.lanes));
  s.rounds(tried.size(), [&](size_t i) {
    s.emit(own.bench.measure("conversions", conversion_name(tried[i]), {{"lanes", s.known.lanes}},
                             conversion_job(s, tried[i], data, groups)));
  });
}

}  // namespace assay::probe
