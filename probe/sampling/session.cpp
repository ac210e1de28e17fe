#include "probe/sampling/session.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>

#include "probe/journal.h"

namespace assay::probe {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool Session::time_left() const { return fixed_rounds > 0 || now_seconds() - started < seconds; }

bool Session::wants_round(int round) const {
  return round == 0 || (fixed_rounds > 0 ? round < fixed_rounds : time_left());
}

void Session::rounds(size_t points, const std::function<void(size_t)>& measure) {
  std::vector<size_t> order(points);
  std::iota(order.begin(), order.end(), size_t{0});
  for (int round = 0; wants_round(round); ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      if (round > 0 && !time_left()) return;
      if (round == 0 && now_seconds() > limit) throw std::runtime_error(kOutOfBudget);
      measure(i);
    }
    if (round == 0) first_round = now_seconds() - started;
  }
}

namespace {

constexpr double kSettled = 0.97, kPart = 0.02;  // of the pass before; of the experiment's time
// Operations, of simulated devices: those that settle do so in a few passes.
constexpr int64_t kWarmWork = 2'000'000;

}  // namespace

void Session::warm_up(const runtime::Launch& pass) {
  const int patience =
      bench.simulated()
          ? 2
          : 1;  // where only launches are noisy, and waiting costs no time of the device's
  const int64_t executed = bench.executed();
  double best = bench.run({&pass, 1}).at(0);
  const auto affordable = [&](double spent) {
    return bench.simulated() ? bench.executed() - executed < kWarmWork : spent < kPart * seconds;
  };
  int still = 0;
  for (double spent = best; still < patience && affordable(spent);) {
    const double now = bench.run({&pass, 1}).at(0);
    still = now > kSettled * best ? still + 1 : 0;
    if (still == 0) best = now;
    spent += now;
  }
}

void Session::emit(const Observation& o) {
  send(to_line(o));
  if (after_block) after_block(o);
}
void Session::fact(const std::string& name, const std::string& text) { send(to_line(name, text)); }

}  // namespace assay::probe
