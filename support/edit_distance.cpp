#include "support/edit_distance.h"

#include <algorithm>
#include <vector>

namespace assay {

int edit_distance(std::string_view a, std::string_view b) {
  const size_t n = a.size(), m = b.size();
  std::vector<std::vector<int>> d(n + 1, std::vector<int>(m + 1));
  for (size_t i = 0; i <= n; ++i) d[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= m; ++j) d[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= n; ++i) {
    for (size_t j = 1; j <= m; ++j) {
      const int substitute = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[n][m];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  const int limit = std::max<int>(1, static_cast<int>(name.size()) / 3);
  int best = limit + 1;
  std::string found;
  for (const std::string& c : candidates) {
    const int distance = edit_distance(name, c);
    if (distance < best) {
      best = distance;
      found = c;
    }
  }
  return found;
}

}  // namespace assay
