// Commands of schedules, for tests.
#pragma once

#include "ir/schedule.h"

namespace assay::test {

// Groups [begin, end) of a step on units [first, last).
inline ir::Command run(int step, int first, int last, int64_t begin, int64_t end) {
  return {ir::Command::Kind::run, first, last, step, begin, end};
}
inline ir::Command signal(int counter, int first, int last) {
  return {ir::Command::Kind::signal, first, last, -1, 0, 0, counter};
}
inline ir::Command wait(int counter, int64_t value, int first, int last) {
  return {ir::Command::Kind::wait, first, last, -1, 0, 0, counter, value};
}
inline ir::Command barrier(int units) { return {ir::Command::Kind::barrier, 0, units}; }

}  // namespace assay::test
