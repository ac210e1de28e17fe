#include "peer.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace assay::bench {

namespace {

struct Request {
  int n = 0, threads = 0;
  double seconds = 0;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<float> random_matrix(int n, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> d(-1, 1);
  std::vector<float> v(static_cast<size_t>(n) * static_cast<size_t>(n));
  for (float& x : v) x = d(rng);
  return v;
}

double time_sgemm(const Request& r) {
  static std::vector<float> a, b, c;
  static int size = 0;
  if (size != r.n) {
    a = random_matrix(r.n, 1);
    b = random_matrix(r.n, 2);
    c.assign(a.size(), 0);
    size = r.n;
  }
  omp_set_num_threads(r.threads);
  const auto call = [&] {
    dnnl_sgemm('N', 'N', r.n, r.n, r.n, 1.0F, a.data(), r.n, b.data(), r.n, 0.0F, c.data(), r.n);
  };
  call();
  const double start = now();
  int calls = 0;
  double elapsed = 0;
  do {
    call();
    ++calls;
    elapsed = now() - start;
  } while (elapsed < r.seconds);
  return elapsed / calls;
}

[[noreturn]] void serve(int in, int out) {
  Request r;
  while (read(in, &r, sizeof r) == static_cast<ssize_t>(sizeof r)) {
    const double seconds = time_sgemm(r);
    if (write(out, &seconds, sizeof seconds) != static_cast<ssize_t>(sizeof seconds)) break;
  }
  _exit(0);
}

}  // namespace

Peer::Peer() {
  // Idle OpenMP threads must sleep, not spin, while ours is timed.
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv("GOMP_SPINCOUNT", "0", 1);
  setenv("OMP_PROC_BIND", "true", 1);
  int down[2], up[2];
  if (pipe(down) != 0 || pipe(up) != 0) return;
  child_ = fork();
  if (child_ == 0) {
    close(down[1]);
    close(up[0]);
    serve(down[0], up[1]);
  }
  close(down[0]);
  close(up[1]);
  to_ = down[1];
  from_ = up[0];
}

Peer::~Peer() {
  if (to_ >= 0) close(to_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

double Peer::sgemm(int n, int threads, double seconds) {
  const Request r{n, threads, seconds};
  double out = -1;
  if (write(to_, &r, sizeof r) != static_cast<ssize_t>(sizeof r)) return -1;
  if (read(from_, &out, sizeof out) != static_cast<ssize_t>(sizeof out)) return -1;
  return out;
}

std::string Peer::name() const {
  const dnnl_version_t* v = dnnl_version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch);
}

}  // namespace assay::bench
