#include "toolkit/validate_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/passes/place.h"
#include "toolkit/packing.h"
#include "toolkit/statistics.h"
#include "toolkit/verify.h"

namespace assay::toolkit {
namespace {

constexpr double kSampleSeconds = 1e-3;   // of one sample at least
constexpr double kInOneKernel = 5e-3;     // of one that is one kernel: dwarfs waking the workers
constexpr double kProgramSeconds = 0.15;  // all samples of a slow program together
constexpr double kColdAnyway = 20e-3;     // of a program: the caches' initial state hardly matters
constexpr double kMuchSlower = 100;       // than the fastest: one sample is enough
constexpr double kFaster = 0.25;          // quantile: the median of the faster half
constexpr int kMostLaunches = 4000;

size_t storage_bytes(const ir::Program& p, int tensor) {
  const auto t = static_cast<size_t>(tensor);
  const ir::Tensor& of = p.graph.tensors[t];
  return static_cast<size_t>(ir::physical_elements(p.layouts[t], of.shape) *
                             ir::bytes_of(of.dtype));
}

std::vector<std::byte> poison(size_t bytes) {
  return std::vector<std::byte>(bytes, std::byte{0xFF});  // NaN in every type of real numbers
}

}  // namespace

Result<Expected> expect(const ir::Graph& graph, uint64_t seed) {
  Expected out;
  out.inputs = generate_inputs(graph, seed);
  Result<std::vector<std::vector<double>>> all = ir::evaluate(graph, out.inputs);
  if (!all) return all.diags();
  Result<std::vector<std::vector<double>>> bound = bounds_of(graph, out.inputs);
  if (!bound) return bound.diags();
  out.outputs = outputs_of(graph, std::move(*all));
  out.bound = std::move(*bound);
  return out;
}

// Buffers begin at different offsets in their pages, as in plans.
Result<runtime::BufferRange> TrialBench::buffer_of(const ir::Program& p, int tensor) {
  const auto t = static_cast<size_t>(tensor);
  const int64_t begin =
      static_cast<int64_t>(buffers_.size()) * compiler::kPageStagger % compiler::kPage;
  const auto [it, fresh] = buffers_.try_emplace({tensor, ir::print(p.layouts[t])});
  if (!fresh) return it->second;
  const Result<int> buffer =
      module_->allocate(begin + static_cast<int64_t>(storage_bytes(p, tensor)));
  if (!buffer) return buffer.diags();
  it->second = {*buffer, begin};
  const std::vector<int>& inputs = p.graph.inputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] == tensor)
      module_->write(it->second,
                     pack(bytes_from_floats(p.graph.tensors[t].dtype, expected_->inputs[i]),
                          p.graph.tensors[t].dtype, p.graph.tensors[t].shape, p.layouts[t]));
  return it->second;
}

Diags TrialBench::add_operands(const Trial& trial) {
  runtime::Launch launch;
  launch.kernel = static_cast<int>(launches_.size());
  for (int t : ir::arguments_of(trial.program)) {
    const Result<runtime::BufferRange> buffer = buffer_of(trial.program, t);
    if (!buffer) return buffer.diags();
    launch.arguments.push_back(*buffer);
  }
  launches_.push_back(std::move(launch));
  return {};
}

Result<TrialBench> TrialBench::load(runtime::Device& device, const hwdesc::Target& target,
                                    std::span<Trial> trials, const Expected& expected,
                                    const BenchOptions& options) {
  TrialBench b;
  b.trials_ = trials;
  b.expected_ = &expected;
  b.options_ = options;
  b.in_one_kernel_ = device.info().in_sequence;
  b.computes_here_ = probe::computes_here(device.info());
  b.samples_.resize(trials.size());
  std::vector<ir::Kernel> kernels;
  for (const Trial& t : trials) kernels.push_back(t.kernel);
  for (size_t i = 0; i < kernels.size(); ++i) kernels[i].name += "_" + std::to_string(i);
  runtime::LoadOptions load;
  load.cache_dir = options.cache_dir;
  load.cancel = options.cancel;
  load.progress = options.progress;
  Result<std::unique_ptr<runtime::Module>> module = device.load(kernels, target, load);
  if (!module) return module.diags();
  b.module_ = std::move(*module);
  for (const Trial& t : trials)
    if (const Diags failed = b.add_operands(t); !failed.empty()) return failed;
  return b;
}

Diags TrialBench::check(size_t i) {
  const ir::Program& p = trials_[i].program;
  const int id = p.graph.outputs[0];
  const auto t = static_cast<size_t>(id);
  const runtime::BufferRange output = launches_[i].arguments.back();
  std::vector<std::byte> raw = poison(storage_bytes(p, id));
  module_->write(output, raw);
  const auto ran = module_->run(std::span(&launches_[i], 1), {1, 0, options_.cancel});
  if (!ran) return ran.diags();
  samples_[i].estimate = ran->busy[0][0];
  module_->read(output, raw);
  const std::vector<std::byte> values =
      unpack(raw, ir::bytes_of(p.graph.tensors[t].dtype), p.graph.tensors[t].shape, p.layouts[t]);
  const Verdict v = compare({floats_from_bytes(p.graph.tensors[t].dtype, values)},
                            expected_->outputs, expected_->bound, whole_model_limit(p.graph));
  trials_[i].row.wrong = !v.verified;
  return {};
}

void TrialBench::plan_samples() {
  double best = std::numeric_limits<double>::max();
  for (const Samples& s : samples_) best = std::min(best, s.estimate);
  for (Samples& s : samples_) {
    const double t = std::max(s.estimate, 1e-9);
    s.launches =
        static_cast<int>(std::clamp(std::ceil((in_one_kernel_ ? kInOneKernel : kSampleSeconds) / t),
                                    1.0, double{kMostLaunches}));
    s.warm_up = s.launches / 4 + 1;
    s.rounds = static_cast<int>(std::clamp(kProgramSeconds / t, 1.0, double(options_.repeat)));
    if (t > kColdAnyway) s.warm_up = 0;
    if (t <= kMuchSlower * best) continue;
    s.rounds = 1;
    s.warm_up = 0;  // the checked run left its operands in the caches
  }
}

Diags TrialBench::sample(size_t i) {
  Samples& s = samples_[i];
  bool untypical = false;
  if (options_.host != nullptr) {
    const Result<bool> slow = options_.host->slow(options_.cancel);
    if (!slow) return slow.diags();
    untypical = *slow || options_.host->was_cross_die();
  }
  const probe::ContentionWatch watch;
  // One run of many launches: each costs what a step in a stream does.
  const std::vector<runtime::Launch> list(static_cast<size_t>(s.warm_up + s.launches),
                                          launches_[i]);
  const auto ran = module_->run(list, {1, 0, options_.cancel});
  if (!ran) return ran.diags();
  std::vector<double> times(ran->steps[0].begin() + s.warm_up, ran->steps[0].end());
  const bool contended = computes_here_ && probe::disturbed(watch.share());
  const bool quiet = !untypical && !contended;
  (quiet ? s.quiet : s.disturbed)
      .push_back({quantile_of(std::move(times), kFaster),
                  options_.host != nullptr ? options_.host->multiply_add_rate() : 0});
  return {};
}

// Noise only slows a program down: undisturbed samples count where there are enough, and of those
// the faster half.
void TrialBench::conclude(size_t i) const {
  const Samples& s = samples_[i];
  ProgramRow& row = trials_[i].row;
  const size_t all = s.quiet.size() + s.disturbed.size();
  row.disturbed = static_cast<double>(s.disturbed.size()) / static_cast<double>(all);
  std::vector<double> used, rates;
  const auto use = [&](const std::vector<Sample>& some) {
    for (const Sample& x : some) {
      used.push_back(x.seconds);
      rates.push_back(x.fma_rate);
    }
  };
  use(s.quiet);
  if (used.size() < 3) use(s.disturbed);
  row.samples = static_cast<int>(used.size());
  row.fma_rate = quantile_of(std::move(rates), 0.5);
  row.measured = quantile_of(used, kFaster);
  row.quick = quantile_of(used, 0);
  row.slow = quantile_of(used, 1);
}

Diags TrialBench::look() {
  for (size_t i = 0; i < trials_.size(); ++i)
    if (Diags failed = check(i); !failed.empty()) return failed;
  plan_samples();
  return {};
}

Diags TrialBench::visit(int of) {
  const auto part = [&](int rounds) {
    return rounds > 1 ? (rounds + of - 1) / of : visits_ == 0 ? rounds : 0;
  };
  const int most = part(options_.repeat);
  std::vector<size_t> before;
  for (const Samples& s : samples_) before.push_back(s.quiet.size());
  for (int round = 0; round < 2 * most; ++round) {
    report(options_.progress, round, 2 * most, "running");
    if (options_.host != nullptr)
      if (Diags failed = options_.host->wait(options_.cancel); !failed.empty()) return failed;
    for (size_t i = 0; i < trials_.size(); ++i) {
      const Samples& s = samples_[i];
      const int rounds = part(s.rounds);
      // A second series for programs with too few undisturbed samples.
      const bool again =
          s.rounds > 1 && static_cast<int>(s.quiet.size() - before[i]) < (rounds + 1) / 2;
      if (round >= rounds && (round < most || !again)) continue;
      if (Diags failed = sample(i); !failed.empty()) return failed;
    }
  }
  ++visits_;
  return {};
}

void TrialBench::conclude() {
  for (size_t i = 0; i < trials_.size(); ++i) conclude(i);
}

Diags TrialBench::measure() {
  if (Diags failed = look(); !failed.empty()) return failed;
  if (Diags failed = visit(1); !failed.empty()) return failed;
  conclude();
  return {};
}

}  // namespace assay::toolkit
