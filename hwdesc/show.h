// A profile as rows, one per leaf that is not at its default, for `profile show` and diff.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

struct FieldRow {
  std::string path;      // dotted, as overrides write it
  std::string value;     // printed quantity, word, or "unknown"
  std::string interval;  // "low .. high", empty when not known
  std::string origin;    // of a quantity: its own or the profile's default; empty for words
  std::string method, ref, note;
  // Of a quantity, in its base unit: "B", "B/s", "B/cycle@core", ...; "1" of counts and ratios,
  // empty for words. nullopt: unknown.
  std::string unit;
  std::optional<double> number, low, high;
  bool operator==(const FieldRow&) const = default;
};

// In table order. Leaves at their default (absent values, empty words) have no row.
std::vector<FieldRow> rows(const Profile& profile);

// Every path of this profile, unknown values included: what an override can name.
std::vector<std::string> all_paths(const Profile& profile);

}  // namespace assay::hwdesc
