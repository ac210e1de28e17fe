#include "probe/experiments/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "probe/experiments/experiments.h"
#include "support/edit_distance.h"

namespace assay::probe {
namespace {

bool has(const std::vector<std::string>& all, const std::string& name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

Diag unknown(const std::string& name, const std::vector<std::string>& names,
             const std::vector<std::string>& topics) {
  std::vector<std::string> both = names;
  both.insert(both.end(), topics.begin(), topics.end());
  const std::string near = nearest(name, both);
  return error(fmt::format("there is no experiment '{}'; there are: {}; or all of a topic: {}",
                           name, fmt::join(names, ", "), fmt::join(topics, ", ")),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

Result<std::vector<std::string>> select_experiments(const std::vector<std::string>& names) {
  std::vector<std::string> known, topics;
  for (const Experiment& e : experiments()) {
    known.emplace_back(e.name);
    if (*e.topic != 0 && !has(topics, e.topic)) topics.emplace_back(e.topic);
  }
  Diags diags;
  for (const std::string& name : names)
    if (!has(known, name) && !has(topics, name)) diags.push_back(unknown(name, known, topics));
  if (!diags.empty()) return diags;
  std::set<std::string> wanted(names.begin(), names.end()), needed;
  // What an experiment needs is before it in the table.
  for (auto e = experiments().rbegin(); e != experiments().rend(); ++e) {
    if (!wanted.contains(e->topic) && !needed.contains(e->name)) continue;
    wanted.insert(e->name);
    for (const std::string& name : needs_of(*e)) needed.insert(name);
  }
  std::vector<std::string> out;
  for (const std::string& name : known)
    if (wanted.contains(name)) out.push_back(name);
  return out;
}

}  // namespace assay::probe
