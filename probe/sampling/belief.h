// Are a device's own times plausible? They are compared with a clock that is not the device's.
// Drivers that scale ticks wrongly, counters that wrap and clocks that stop give numbers as smooth
// as right ones.
//
// The launches of a run are serial, so their times by the device add up to no more than the run's
// time from outside. Nor to much less, if the run is long compared with its dispatch, unless the
// host was busy. On simulated devices the other clock is the simulated total.
#pragma once

#include <string>

namespace assay::probe {

struct Session;

struct Clocks {        // of one run
  double device = 0;   // s: sum over the launches by the device's clock
  double outside = 0;  // s
  int launches = 0;
  bool simulated = false;
};

enum class Belief { good, doubtful, none };  // doubtful: a busy host looks alike

Belief belief_in(const Clocks& c);

// "the device says 1.2 ms of what took 19 ms"
std::string text_of(const Clocks& c);

// Runs few and many long launches: the difference must be the same by both clocks. Throws if it
// never is in several attempts.
void check_times(Session& s);

}  // namespace assay::probe
