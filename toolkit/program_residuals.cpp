#include "toolkit/program_residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "model/interval.h"
#include "support/files/files.h"
#include "support/hash.h"
#include "support/yaml_reader.h"
#include "toolkit/profiles.h"
#include "toolkit/validate.h"

namespace assay::toolkit {
namespace {

constexpr double kMissedBelow = 0.05, kMissedAbove = 0.05;
constexpr size_t kLeastOfRegime = 40, kLeastOfClass = 20, kMostRegimes = 6;

struct FitJournal {
  std::string file, profile;  // as in the index
};

struct Row {
  double efficiency = 0, ratio = 1;  // measured / predicted
};

using Classes = std::map<std::pair<std::string, std::string>, std::vector<Row>>;  // unit, bound

struct IndexReader : yaml::Reader {
  std::vector<FitJournal> to_fit() {
    only_keys(doc.root, {"schema", "journals"});
    schema("assay/journals/1");
    std::vector<FitJournal> out;
    for (const yaml::Node& n : items(doc.root, "journals")) {
      only_keys(n, {"file", "profile", "use"});
      const FitJournal j{text(n, "file"), text(n, "profile")};
      if (word(n, "use", {"fit", "judge"}) == 0) out.push_back(j);
    }
    if (out.empty() && diags.empty()) fail(doc.root, "no journal has `use: fit`");
    return out;
  }
};

// A file beside the index, else a name in the library.
std::string beside(const std::filesystem::path& index, const std::string& name) {
  const std::filesystem::path file = index.parent_path() / name;
  return std::filesystem::exists(file) ? file.string() : name;
}

Diags add_rows(const hwdesc::Profile& profile, const std::string& journal, Classes& classes,
               const Progress& progress, const CancelToken* cancel) {
  const Result<Validation> v = judge_again(profile, journal, "", progress, cancel);
  if (!v) return v.diags();
  const bool simt = profile.execution.lanes.style == hwdesc::LaneStyle::simt;
  for (const OperatorRows& o : v->operators)
    for (const ProgramRow& r : o.rows)
      if (r.drawn != Drawn::neighbour && !r.wrong)
        for (const std::string_view bound : {model::bound_class(r.estimate), model::kAnyBound})
          classes[{simt ? "waves" : "cores", std::string(bound)}].push_back(
              {r.estimate.efficiency, r.measured / r.estimate.seconds});
  return {};
}

// The quantiles that hold for the next program of n + 1, too.
std::pair<double, double> quantiles(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  const auto n = static_cast<double>(ratios.size());
  const auto at = [&](double rank) {  // from 1
    return ratios[static_cast<size_t>(std::clamp(rank, 1.0, n)) - 1];
  };
  return {at(std::floor((n + 1) * kMissedBelow)), at(std::ceil((n + 1) * (1 - kMissedAbove)))};
}

std::string regimes(const std::pair<std::string, std::string>& name, std::vector<Row> rows,
                    double& inside) {
  std::ranges::sort(rows, {}, [](const Row& r) { return std::pair(r.efficiency, r.ratio); });
  const size_t n = rows.size(), parts = std::clamp<size_t>(n / kLeastOfRegime, 1, kMostRegimes);
  std::string out;
  for (size_t part = 0; part < parts; ++part) {
    const size_t from = part * n / parts, to = (part + 1) * n / parts;
    std::vector<double> ratios;
    for (size_t i = from; i < to; ++i) ratios.push_back(rows[i].ratio);
    const auto [low, high] = quantiles(ratios);
    inside += static_cast<double>(std::ranges::count_if(
        ratios, [&, l = low, h = high](double r) { return l <= r && r <= h; }));
    const std::string below =
        part + 1 < parts ? fmt::format("below: {:.4g}, ", rows[to - 1].efficiency) : "";
    out += fmt::format("  - {{unit: {}, bound: {}, {}low: {:.4f}, high: {:.4f}, n: {}}}\n",
                       name.first, name.second, below, low, high, to - from);
  }
  return out;
}

}  // namespace

Result<ProgramResiduals> program_residuals(const std::string& index, const Progress& progress,
                                           const CancelToken* cancel) {
  const Result<std::string> text = read_text(index);
  if (!text) return text.diags();
  const Result<yaml::Document> doc = yaml::parse(*text, index);
  if (!doc) return doc.diags();
  IndexReader reader{{*doc}};
  const std::vector<FitJournal> journals = reader.to_fit();
  if (!reader.diags.empty()) return reader.diags;
  Classes classes;
  std::string hashes;
  for (const FitJournal& j : journals) {
    const std::string file = beside(index, j.file);
    const Result<hwdesc::Profile> profile = load_profile(beside(index, j.profile));
    if (!profile) return profile.diags();
    const Result<std::string> kept = read_text(file);
    if (!kept) return kept.diags();
    if (Diags failed = add_rows(*profile, file, classes, progress, cancel); !failed.empty())
      return failed;
    hashes += fmt::format("  - {{file: {}, hash: {}}}\n", j.file, hash_hex(*kept));
  }
  ProgramResiduals out;
  out.text =
      "# Written by `assay calibrate --residuals`; do not edit.\nschema: assay/residuals/1\n"
      "method: quantiles 5 and 95 % of measured / predicted, by unit, bound and efficiency\n"
      "journals:\n" +
      hashes + "quantiles:\n";
  for (const auto& [name, rows] : classes) {
    if (rows.size() < kLeastOfClass) continue;
    double inside = 0;
    out.text += regimes(name, rows, inside);
    if (name.second == model::kAnyBound) continue;  // these were counted by what bounds them
    out.programs += static_cast<int>(rows.size());
    out.inside += inside;
  }
  out.inside /= std::max(1, out.programs);
  return out;
}

}  // namespace assay::toolkit
