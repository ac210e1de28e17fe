#include "peer.h"

#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <vector>

namespace assay::bench {

namespace {

struct Request {
  MatrixType type = MatrixType::f32;
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

using Call = std::function<void()>;

Call sgemm(int n) {
  auto a = std::make_shared<std::vector<float>>(random_matrix(n, 1)),
       b = std::make_shared<std::vector<float>>(random_matrix(n, 2)),
       c = std::make_shared<std::vector<float>>(a->size(), 0.0F);
  return
      [=] { dnnl_sgemm('N', 'N', n, n, n, 1.0F, a->data(), n, b->data(), n, 0.0F, c->data(), n); };
}

// Through the library's own primitive, which packs B once.
Call packed_product(MatrixType type, int n) {
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  const bool whole = type == MatrixType::i8;
  const auto in = whole ? memory::data_type::s8 : memory::data_type::bf16,
             out = whole ? memory::data_type::s32 : memory::data_type::bf16;
  const auto described = [&](memory::data_type t, memory::format_tag tag) {
    return memory::desc({n, n}, t, tag);
  };
  const dnnl::matmul::primitive_desc chosen(
      dnnl::matmul::desc(described(in, memory::format_tag::ab),
                         described(in, memory::format_tag::any),
                         described(out, memory::format_tag::ab)),
      engine);
  const auto filled = [&](unsigned seed, double scale) {
    memory from(described(memory::data_type::f32, memory::format_tag::ab), engine),
        to(described(in, memory::format_tag::ab), engine);
    std::vector<float> values = random_matrix(n, seed);
    for (size_t i = 0; i < values.size(); ++i)
      static_cast<float*>(from.get_data_handle())[i] = values[i] * static_cast<float>(scale);
    dnnl::reorder(from, to).execute(stream, from, to);
    return to;
  };
  const double scale = whole ? 100 : 1;
  memory a = filled(1, scale), plain = filled(2, scale), b(chosen.weights_desc(), engine),
         c(chosen.dst_desc(), engine);
  dnnl::reorder(plain, b).execute(stream, plain, b);
  stream.wait();
  const dnnl::matmul product(chosen);
  return [=] {
    product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
  };
}

double time_product(const Request& r) {
  static Call call;
  static MatrixType type = MatrixType::f32;
  static int size = 0;
  omp_set_num_threads(r.threads);
  if (size != r.n || type != r.type) {
    call = r.type == MatrixType::f32 ? sgemm(r.n) : packed_product(r.type, r.n);
    size = r.n;
    type = r.type;
  }
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

double answer(const Request& r) {
  try {
    return time_product(r);
  } catch (const dnnl::error& e) {
    std::fprintf(stderr, "oneDNN: %s\n", e.what());
    return -1;
  }
}

[[noreturn]] void serve(int in, int out) {
  Request r;
  while (read(in, &r, sizeof r) == static_cast<ssize_t>(sizeof r)) {
    const double seconds = answer(r);
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

double Peer::product(MatrixType type, int n, int threads, double seconds) {
  const Request r{type, n, threads, seconds};
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
