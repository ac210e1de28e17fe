// Generated kernels against a tuned library. Samples follow the order A B B A; each is at least 20
// ms of work after a pause and one untimed call. `ratio` is the median of the paired ratios, ours
// over peer in speed. Names are <type>/<api>/<size>/<threads>; counters ratio, ratio_q1, ratio_q3,
// GFLOPS, peer_GFLOPS. Sums of i8 are in i32; results of bf16 are bf16.
//
// Whole models: compare_models.py.
//
// The programs are the compiler's first choice for the profile in $ASSAY_PROFILE, a path or a
// library name. Default: the profile of scripts/demo in build/demo, else the generic one.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ours.h"
#include "peer.h"

namespace assay::bench {
namespace {

constexpr int kPairs = 8;         // A B B A gives two pairs
constexpr double kSample = 0.02;  // seconds

double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return v[static_cast<size_t>(q * static_cast<double>(v.size() - 1) + 0.5)];
}

void quiet_gap() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

struct Product {
  std::string api;
  MatrixType type = MatrixType::f32;
  int n = 0, threads = 0;
};

const char* name_of(MatrixType t) {
  return t == MatrixType::f32 ? "f32" : t == MatrixType::bf16 ? "bf16" : "i8";
}

void product(benchmark::State& state, Peer& peer, const Product& p) {
  const int n = p.n;
  if (peer.product(p.type, n, p.threads, 0) < 0) {
    state.SkipWithError("the library has no such product here");
    return;
  }
  const std::unique_ptr<Ours> ours = Ours::matmul(p.api, name_of(p.type), n, p.threads);
  if (!ours) {
    state.SkipWithError("no program could be built");
    return;
  }
  std::vector<double> ratios, mine, theirs;
  const auto sample_ours = [&] {
    quiet_gap();
    return ours->seconds_per_call(kSample);
  };
  const auto sample_peer = [&] {
    quiet_gap();
    return peer.product(p.type, n, p.threads, kSample);
  };
  for (auto _ : state) {
    for (int i = 0; i < kPairs / 2; ++i) {
      const double a1 = sample_ours(), b1 = sample_peer(), b2 = sample_peer(), a2 = sample_ours();
      for (double a : {a1, a2}) mine.push_back(a);
      for (double b : {b1, b2}) theirs.push_back(b);
      ratios.push_back(b1 / a1);
      ratios.push_back(b2 / a2);
    }
  }
  const double flops = 2.0 * n * n * n;
  state.counters["ratio"] = quantile(ratios, 0.5);
  state.counters["ratio_q1"] = quantile(ratios, 0.25);
  state.counters["ratio_q3"] = quantile(ratios, 0.75);
  state.counters["GFLOPS"] = flops / quantile(mine, 0.5) / 1e9;
  state.counters["peer_GFLOPS"] = flops / quantile(theirs, 0.5) / 1e9;
  state.counters["predicted_over_measured"] = ours->predicted_seconds() / quantile(mine, 0.5);
  state.SetLabel(ours->description());
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  assay::bench::Peer peer;  // before any thread exists
  std::fprintf(stderr, "peer: %s\n", peer.name().c_str());
  using assay::bench::MatrixType;
  const auto add = [&](const std::string& api, int n, int threads,
                       MatrixType type = MatrixType::f32) {
    const assay::bench::Product p{api, type, n, threads};
    const std::string name = std::string(assay::bench::name_of(type)) + "/" + api + "/" +
                             std::to_string(n) + "/" + std::to_string(threads);
    benchmark::RegisterBenchmark(
        name.c_str(), [&peer, p](benchmark::State& s) { assay::bench::product(s, peer, p); })
        ->Iterations(1)
        ->UseRealTime();
  };
  for (int threads : {1, 2})
    for (int n : {224, 448, 896, 1792, 2016, 256, 512, 1024, 2048, 509, 1021})
      add("cpp", n, threads);
  for (const MatrixType type : {MatrixType::i8, MatrixType::bf16})
    for (int n : {512, 1024, 2048, 509, 1021}) add("cpp", n, 2, type);
  for (int n : {448, 896, 1792, 2016, 512, 1024, 509, 1021}) add("opencl", n, 2);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
