#include "model/lane_addresses.h"

#include <algorithm>
#include <set>
#include <vector>

namespace assay::model {

namespace {

// Does each lane have the address of the one at this distance?
bool pairs_agree(std::span<const int64_t> words, size_t distance) {
  for (size_t l = 0; l < words.size(); ++l)
    if ((l ^ distance) >= words.size() || words[l] != words[l ^ distance]) return false;
  return true;
}

}  // namespace

double bank_cycles(std::span<const int64_t> words, int width, int banks) {
  auto phases = static_cast<size_t>(std::max(1, width));
  if (phases > 1 && (pairs_agree(words, 1) || pairs_agree(words, 2))) phases /= 2;
  const size_t lanes = std::max<size_t>(1, (words.size() + phases - 1) / phases);
  double cycles = 0;
  for (size_t first = 0; first < words.size(); first += lanes) {
    std::set<int64_t> distinct;
    for (size_t l = first; l < std::min(first + lanes, words.size()); ++l)
      for (int w = 0; w < width; ++w) distinct.insert(words[l] + w);
    std::vector<int> asked(static_cast<size_t>(banks), 0);
    for (const int64_t w : distinct) ++asked[static_cast<size_t>(((w % banks) + banks) % banks)];
    cycles += *std::max_element(asked.begin(), asked.end());
  }
  return cycles;
}

double line_cycles(std::span<const int64_t> bytes, int width, int64_t line, int64_t phase) {
  const size_t lanes = std::max<size_t>(1, static_cast<size_t>(phase / std::max(1, width)));
  double cycles = 0;
  for (size_t first = 0; first < bytes.size(); first += lanes) {
    std::set<int64_t> lines;
    for (size_t l = first; l < std::min(first + lanes, bytes.size()); ++l)
      for (int64_t at = bytes[l] / line; at <= (bytes[l] + width - 1) / line; ++at)
        lines.insert(at);
    cycles += static_cast<double>(lines.size());
  }
  return cycles;
}

}  // namespace assay::model
