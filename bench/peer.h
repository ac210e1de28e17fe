// A library to compare with, in a process of its own. So its thread pool exists only there, and is
// blocked on a pipe while ours is timed.
#pragma once

#include <sys/types.h>

#include <string>

namespace assay::bench {

enum class MatrixType { f32, bf16, i8 };

class Peer {  // invariant: a child process that answers one request at a time
 public:
  // Starts the child, before this process has threads.
  Peer();
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Seconds per call of C = A B, n x n x n, on `threads` threads: the mean over at least `seconds`
  // of calls, after one untimed call. f32: row-major. i8 (C in i32) and bf16: B is packed
  // beforehand, as the library likes it. Negative: the library is absent, or has no such product.
  double product(MatrixType type, int n, int threads, double seconds);

  std::string name() const;  // library and version

 private:
  int to_ = -1, from_ = -1;
  pid_t child_ = -1;
};

}  // namespace assay::bench
