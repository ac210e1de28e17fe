#include "hwdesc/diff.h"

#include <map>

#include "hwdesc/show.h"

namespace assay::hwdesc {

namespace {

std::map<std::string, std::string> by_path(const std::vector<FieldRow>& list) {
  std::map<std::string, std::string> out;
  for (const FieldRow& row : list) out[row.path] = row.value;
  return out;
}

}  // namespace

std::vector<Difference> diff(const Profile& left, const Profile& right) {
  const std::vector<FieldRow> left_rows = rows(left), right_rows = rows(right);
  const auto lefts = by_path(left_rows), rights = by_path(right_rows);
  std::vector<Difference> out;
  for (const FieldRow& row : left_rows) {
    const auto other = rights.find(row.path);
    const std::string text = other == rights.end() ? "" : other->second;
    if (text != row.value) out.push_back({row.path, row.value, text});
  }
  for (const FieldRow& row : right_rows)
    if (!lefts.contains(row.path)) out.push_back({row.path, "", row.value});
  return out;
}

std::string print_diff(const std::vector<Difference>& differences) {
  std::string out;
  for (const Difference& d : differences) {
    out += d.path + ": " + (d.left.empty() ? "-" : d.left) + " -> " + (d.right.empty() ? "-" : d.right);
    out += "\n";
  }
  return out;
}

}  // namespace assay::hwdesc
