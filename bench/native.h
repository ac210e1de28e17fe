// Hand-written loops in machine code for x86: what the probe's own kernels are held against. None
// of the project's code generation is in them.
#pragma once

#include <cstdint>
#include <memory>

namespace assay::bench {

class Native {  // invariant: one pinned thread per CPU that may be used, parked between calls
 public:
  // nullptr: this processor has no AVX-512 and no AVX2 with FMA.
  static std::unique_ptr<Native> make(int64_t bytes);  // of each buffer
  ~Native();
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;

  int units() const;
  int lanes() const;  // of f32 in a vector

  // Seconds per dependent addition, per vector multiply-add with enough chains, on one unit.
  double addition();
  double multiply_add();

  // Seconds per byte of passes over `bytes` on one unit; a copy moves as many again.
  double read(int64_t bytes);
  double write(int64_t bytes);
  double copy(int64_t bytes);

  // Once through all that read_far() reads: what has only been filled is slower to some guests than
  // what was read before.
  void go_through();

  // Seconds per byte of all units, each through the next 4 MiB of its part of the whole buffer.
  double read_far();

 private:
  int64_t turns() const;  // of read_far() until it is through
  struct Crew;
  explicit Native(std::unique_ptr<Crew> crew);
  std::unique_ptr<Crew> crew_;
};

}  // namespace assay::bench
