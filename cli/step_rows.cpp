#include "cli/step_rows.h"

#include <fmt/format.h>

#include <map>

#include "cli/console/table.h"

namespace assay::cli {

std::vector<std::vector<size_t>> step_rows(const std::vector<std::string>& labels, bool streamed) {
  std::vector<std::vector<size_t>> out;
  std::map<std::string, size_t> row;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto [it, fresh] = row.try_emplace(labels[i], out.size());
    if (fresh || !streamed)
      out.push_back({i});
    else
      out[it->second].push_back(i);
  }
  return out;
}

std::string label_of_row(const std::string& label, size_t steps) {
  return steps == 1 ? label : fmt::format("{} x {}", steps, label);
}

std::string label_of_transfers(bool download, int64_t count, int64_t bytes) {
  return fmt::format("{} {}, {}", count, download ? "downloads" : "uploads",
                     console::bytes(static_cast<double>(bytes)));
}

}  // namespace assay::cli
