#include "probe/inference/border.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "probe/inference/stats.h"
#include "probe/kernels/path.h"

namespace assay::probe {
namespace {

using hwdesc::Border;

constexpr const char* kExperiment = "border";

struct Answers {
  std::set<std::string> all;  // words
  std::map<std::string, std::set<std::string>> by_place;
  bool inside_right = true;
};

std::string word_of(const Observation& o) {
  const double got = o.samples.at(0);
  return got == 0                       ? "0"
         : got == o.value_at("nearest") ? "the nearest texel"
                                        : fmt::format("{:g}", got);
}

Answers answers_in(const Observations& all) {
  Answers out;
  for (const Observation& o : all.points) {
    if (o.experiment != kExperiment || o.samples.empty()) continue;
    const std::string word = word_of(o);
    if (o.what == "inside") {
      out.inside_right &= word == "the nearest texel";
      continue;
    }
    out.all.insert(word);
    out.by_place[o.what].insert(word);
  }
  return out;
}

}  // namespace

hwdesc::ImageBorder border_of(const Observations& all) {
  const std::string how = all.fact("image_outside");
  const Answers seen = answers_in(all);
  if (seen.all.empty()) {
    if (!all.finished(kExperiment) || all.fact("image_width").empty()) return {};
    return {Border::unknown, "",
            how.empty() ? "the api leaves undefined what lies outside of an image: not read"
                        : "images were not read outside of their edges"};
  }
  const std::string method =
      fmt::format("texels beside, above, below and far outside of images are read: {}", how);
  if (!seen.inside_right)
    return {Border::unknown, method, "texels inside of the image were not read as they are"};
  if (seen.all == std::set<std::string>{"0"}) return {Border::zero, method, ""};
  if (seen.all == std::set<std::string>{"the nearest texel"}) return {Border::clamp, method, ""};
  std::string note;
  for (const auto& [place, words] : seen.by_place)
    note += fmt::format("{}{}: {}", note.empty() ? "" : "; ", place, fmt::join(words, ", "));
  return {Border::unknown, method, "neither 0 everywhere nor the nearest texel: " + note};
}

}  // namespace assay::probe
