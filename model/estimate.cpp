#include "model/estimate.h"

#include <algorithm>

namespace assay::model {

void add_terms(std::vector<Term>& to, const std::vector<Term>& from, double times) {
  for (const Term& t : from) {
    const auto found =
        std::find_if(to.begin(), to.end(), [&](const Term& x) { return x.name == t.name; });
    if (found == to.end())
      to.push_back({t.name, times * t.seconds, ""});
    else
      found->seconds += times * t.seconds;
  }
}

void add_levels(std::vector<LevelUse>& to, const std::vector<LevelUse>& from, double times) {
  for (const LevelUse& u : from) {
    auto found = std::find_if(to.begin(), to.end(),
                              [&](const LevelUse& x) { return x.boundary == u.boundary; });
    if (found == to.end()) {
      to.push_back({u.boundary, 0, 0, 0, 0, u.shared});
      found = to.end() - 1;
    }
    found->read_bytes += times * u.read_bytes;
    found->written_bytes += times * u.written_bytes;
    found->seconds += times * u.seconds;
    found->working_set = std::max(found->working_set, u.working_set);
  }
}

}  // namespace assay::model
