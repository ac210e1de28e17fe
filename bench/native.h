// Hand-written loops in x86 assembly, which the probe's kernels are compared with. They use none of
// the project's code generation.
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

  // Seconds on one unit: per dependent addition; per vector multiply-add, with enough chains.
  double addition();
  double multiply_add();

  // Seconds per byte of passes over `bytes` on one unit; a copy moves as many again.
  double read(int64_t bytes);
  double write(int64_t bytes);
  double copy(int64_t bytes);

  // Reads once all that read_far() reads. Pages that were only filled are slower for some guests.
  void read_all_once();

  // Seconds per byte of all units, each reading the next 4 MiB of its part of the buffer.
  double read_far();

 private:
  int64_t turns() const;  // calls of read_far() for the whole buffer
  struct Crew;
  explicit Native(std::unique_ptr<Crew> crew);
  std::unique_ptr<Crew> crew_;
};

}  // namespace assay::bench
