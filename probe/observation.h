// What experiments record: raw samples under stated conditions, never conclusions. Inference uses
// nothing else, so that a profile can be inferred again without the device.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::probe {

// Conditions of a measurement by name: bytes, lanes, chains, units, groups, distance.
using Conditions = std::map<std::string, double>;

inline constexpr double kNobody = -1;
// Facts, by experiment: samples repeated because the device's times were doubtful.
inline constexpr const char* kDoubted = "doubted.";
// Begins the reason of an ending.
inline constexpr const char* kNoTrust = "the device's own times can not be trusted";

// One block: repeated samples of one quantity under fixed conditions.
struct Observation {
  std::string experiment;  // row of the table of experiments
  std::string what;        // the quantity within it: fma, read, chase, ...
  Conditions at;
  std::string unit;  // of the samples: `s` per step, operation, byte, launch; or `B`, `1`
  std::vector<double> samples;
  // Per sample: the share of its time that our threads were kept from running.
  std::vector<double> disturbed;
  // Share of the machine that others used around the block; kNobody: a simulated device.
  double foreign = 0;
  std::optional<double> clock_hz;  // sentinel next to this block; nullopt: none ran
  bool operator==(const Observation&) const = default;

  double value_at(const std::string& name, double otherwise = 0) const {
    const auto it = at.find(name);
    return it == at.end() ? otherwise : it->second;
  }
};

enum class Outcome {
  done,
  failed,
  crashed,
  timed_out,
  cancelled,
  out_of_budget,  // not begun, or not finished, when the probe's time was over
};

// How one attempt at an experiment ended.
struct Ending {
  std::string experiment;
  Outcome outcome = Outcome::done;
  double seconds = 0;
  std::string reason;  // why it failed
  bool operator==(const Ending&) const = default;
};

struct Observations {
  std::vector<Observation> points;
  // What the system declares: names, versions.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Ending> endings;
  bool operator==(const Observations&) const = default;

  std::string fact(const std::string& name) const {  // the latest; "" when none
    for (auto it = facts.rbegin(); it != facts.rend(); ++it)
      if (it->first == name) return it->second;
    return "";
  }
  // Drops all of an experiment, which was measured with what had failed before it.
  void drop(const std::string& experiment) {
    std::erase_if(points, [&](const Observation& o) { return o.experiment == experiment; });
    std::erase_if(endings, [&](const Ending& e) { return e.experiment == experiment; });
  }
  int times_done(const std::string& experiment) const {
    return static_cast<int>(std::count_if(endings.begin(), endings.end(), [&](const Ending& e) {
      return e.experiment == experiment && e.outcome == Outcome::done;
    }));
  }
  bool finished(const std::string& experiment) const { return times_done(experiment) > 0; }
};

}  // namespace assay::probe
