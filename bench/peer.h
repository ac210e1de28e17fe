// A library to compare with, in a process of its own. So its thread pool exists only there, and is
// blocked on a pipe while ours is timed.
#pragma once

#include <sys/types.h>

#include <string>

namespace assay::bench {

class Peer {  // invariant: a child process that answers one request at a time
 public:
  // Starts the child, before this process has threads.
  Peer();
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Seconds per call of C = A B, row-major float32, n x n x n, on `threads` threads: the mean over
  // at least `seconds` of calls, after one untimed call. Negative: the library is absent.
  double sgemm(int n, int threads, double seconds);

  std::string name() const;  // library and version

 private:
  int to_ = -1, from_ = -1;
  pid_t child_ = -1;
};

}  // namespace assay::bench
