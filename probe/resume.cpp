#include "probe/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "probe/journal.h"
#include "support/version.h"

namespace assay::probe {
namespace {

// Facts that identify a device and its software.
constexpr const char* kLasting[] = {"name",  "api",      "dialect", "lanes",  "widths",
                                    "units", "platform", "version", "driver", "compiler"};

constexpr const char* kBeginAnew =
    "begin anew without --resume (the earlier observations are kept), or give another directory";

Diag in_journal(const std::string& directory, std::string message, std::string hint) {
  Diag d = error(std::move(message), std::move(hint));
  d.file = directory + "/" + kJournalFile;
  return d;
}

std::vector<std::string> needs_of(std::span<const Experiment> table,
                                  const std::string& experiment) {
  const auto e = std::find_if(table.begin(), table.end(),
                              [&](const Experiment& x) { return x.name == experiment; });
  return e == table.end() ? std::vector<std::string>{} : needs_of(*e);
}

}  // namespace

std::vector<std::string> stale(const Observations& earlier, std::span<const Experiment> table,
                               const std::vector<std::string>& asked_for) {
  std::set<std::string> sound, tried(asked_for.begin(), asked_for.end()), out;
  for (const Ending& e : earlier.endings) tried.insert(e.experiment);
  for (const Ending& e : earlier.endings) {
    if (e.outcome != Outcome::done) continue;
    const std::vector<std::string> needs = needs_of(table, e.experiment);
    const bool had_all = std::all_of(needs.begin(), needs.end(), [&](const std::string& n) {
      return sound.contains(n) || !tried.contains(n);
    });
    (had_all ? sound : out).insert(e.experiment);
  }
  return {out.begin(), out.end()};
}

Diags check_same_device(const Observations& earlier, const std::string& device,
                        const std::string& directory) {
  Diags out;
  if (const std::string was = earlier.fact("device"); !was.empty() && was != device)
    out.push_back(in_journal(directory,
                             fmt::format("these are observations of {}, not of {}", was, device),
                             fmt::format("--device {}, or another directory", was)));
  if (const std::string was = earlier.fact("assay"); !was.empty() && was != kVersion)
    out.push_back(in_journal(
        directory,
        fmt::format("Assay {} took these observations, this is {}: its experiments may differ", was,
                    kVersion),
        kBeginAnew));
  return out;
}

Diags check_same_driver(const Observations& earlier, const Observations& now,
                        const std::string& directory) {
  Diags out;
  for (const char* name : kLasting) {
    const std::string was = earlier.fact(name), is = now.fact(name);
    if (!was.empty() && !is.empty() && was != is)
      out.push_back(
          in_journal(directory,
                     fmt::format("{} was '{}' when these observations were taken, and is '{}' now",
                                 name, was, is),
                     kBeginAnew));
  }
  return out;
}

}  // namespace assay::probe
