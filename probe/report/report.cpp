#include "probe/report/report.h"

#include <algorithm>
#include <utility>

#include "probe/inference/doubts.h"
#include "probe/inference/values.h"
#include "probe/report/chart.h"
#include "probe/report/tables.h"
#include "support/page/page.h"

namespace assay::probe {
namespace {

using page::Section;

constexpr const char* kFooter =
    "Made by <code>assay probe</code> from raw samples; <code>assay probe --from</code> makes it "
    "again. Dots are samples, crosses samples during which the probe's own threads were kept "
    "waiting, lines and bars the estimates that values rest on; intervals are 5 % to 95 %.";

// Charts of one section together, sections in the order of their first charts.
std::vector<Section> chart_sections(const std::vector<Chart>& charts) {
  std::vector<Section> out;
  for (size_t i = 0; i < charts.size(); ++i) {
    auto it = std::find_if(out.begin(), out.end(),
                           [&](const Section& s) { return s.title == charts[i].section; });
    if (it == out.end()) it = out.insert(out.end(), {charts[i].section, ""});
    it->body += page::figure(charts[i], i, chart_values(charts[i]));
  }
  return out;
}

}  // namespace

std::string report_html(const Observations& all, const hwdesc::Profile& profile) {
  const Source source{all, profile, known_from(usable_observations(all))};
  std::vector<Chart> charts = charts_of(source);
  for (Chart& c : drift_of(source)) charts.push_back(std::move(c));
  std::vector<Section> sections = {
      {"Values", main_values(source) + "<details><summary>Every value of the profile</summary>\n" +
                     all_values(source) + "</details>\n"}};
  for (Section& s : chart_sections(charts)) sections.push_back(std::move(s));
  sections.push_back({"Unknown values and why", unknown_values(source)});
  sections.push_back({"Cross-checks", cross_checks(source)});
  sections.push_back({"How the experiments ended", experiment_endings(source)});
  sections.push_back({"System and driver", facts(source)});
  const std::string device = device_name(source);
  return page::page_html({device + ": what assay probe measured", "assay probe", device,
                          summary_list(source), std::move(sections), std::move(charts), kFooter});
}

}  // namespace assay::probe
