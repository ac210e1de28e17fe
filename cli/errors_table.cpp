#include "cli/errors_table.h"

#include <fmt/format.h>

#include "cli/console/table.h"

namespace assay::cli {

using toolkit::Figure;

std::string plain(const Figure& f) { return f ? fmt::format("{:.2f}", *f) : "-"; }
std::string share(const Figure& f) { return f ? fmt::format("{:.1f} %", *f * 100) : "-"; }
std::string signed_share(const Figure& f) { return f ? console::percent(*f) : "-"; }

std::vector<std::string> errors_heading() {
  return {"programs", "n", "MAPE", "median", "90th", "bias", "coverage", "half-width"};
}

std::vector<std::string> errors_row(const std::string& name, const toolkit::Errors& e) {
  return {name,         std::to_string(e.programs), share(e.mape),     share(e.median),
          share(e.p90), signed_share(e.bias),       share(e.coverage), share(e.half_width)};
}

}  // namespace assay::cli
