// Detects when a loop has settled: its iterations take the same time, so that most of them can be
// skipped.
#pragma once

#include <cmath>
#include <cstdint>

namespace assay::runtime::simulated {

class Steady {  // invariant: the last same_ blocks of iterations took block_time_ each
 public:
  void restart(int block, int wanted, double tolerance) {
    block_ = block;
    wanted_ = wanted;
    tolerance_ = tolerance;
    in_block_ = same_ = 0;
    begin_ = -1;
  }
  // After an iteration that ended at `now`. True: settled.
  bool after(double now) {
    if (begin_ < 0) {
      begin_ = now;
      return false;
    }
    if (++in_block_ < block_) return settled();
    const double took = now - begin_;
    same_ = std::abs(took - block_time_) <= tolerance_ * took + 1e-9 ? same_ + 1 : 0;
    mean_ = same_ == 0 ? took : (mean_ * same_ + took) / (same_ + 1);
    if (same_ == 0) block_time_ = took;
    begin_ = now;
    in_block_ = 0;
    return settled();
  }
  void shift(double by) { begin_ += by; }
  bool settled() const { return same_ >= wanted_; }
  double iteration() const { return mean_ / block_; }

 private:
  int block_ = 1, wanted_ = 3, in_block_ = 0, same_ = 0;
  double tolerance_ = 0, begin_ = -1, block_time_ = 0, mean_ = 0;
};

}  // namespace assay::runtime::simulated
