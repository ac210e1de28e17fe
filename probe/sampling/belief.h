// Whether a device's own times are to be believed: they are held against a clock that is not the
// device's. Drivers that scale ticks wrongly, counters that wrap, and clocks that stop give numbers
// as smooth as right ones.
//
// The launches of a run follow one another, so the times that the device says of them add up to no
// more than what the run took from outside. Nor to much less, if the run is long against what
// handing launches over costs; but then the host may have been kept busy, too. On simulated devices
// the other clock is the simulated total.
#pragma once

#include <string>

namespace assay::probe {

struct Session;

struct Clocks {        // of one run
  double device = 0;   // s: sum of what it says of each launch
  double outside = 0;  // s
  int launches = 0;
  bool simulated = false;
};

enum class Belief { good, doubtful, none };  // doubtful: also what a busy host looks like

Belief belief_in(const Clocks& c);

// "the device says 1.2 ms of what took 19 ms"
std::string text_of(const Clocks& c);

// Runs long launches, few and many: what more of them take must be the same by both clocks. Throws
// if it is not, not even once in a few times.
void check_times(Session& s);

}  // namespace assay::probe
