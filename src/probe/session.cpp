#include "probe/session.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "probe/journal.h"

namespace assay::probe {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Session::left() const { return seconds - (now_seconds() - started); }

void Session::rounds(size_t points, const std::function<void(size_t)>& measure) {
  std::vector<size_t> order(points);
  std::iota(order.begin(), order.end(), size_t{0});
  bool first = true;
  do {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      if (!first && left() <= 0) return;
      measure(i);
    }
    first = false;
  } while (left() > 0);
}

void Session::emit(const Observation& o) {
  send(to_line(o));
  if (behind) behind(o);
}
void Session::fact(const std::string& name, const std::string& text) { send(to_line(name, text)); }

}  // namespace assay::probe
