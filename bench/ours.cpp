#include "ours.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <span>

#include "ir/computed_type.h"
#include "ir/element.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"

namespace assay::bench {

hwdesc::Profile bench_profile(const std::string& api) {
  const bool cpp = api == "cpp";
  const char* named = std::getenv(cpp ? "ASSAY_PROFILE" : "ASSAY_OPENCL_PROFILE");
  const char* of_demo = cpp ? "build/demo/profile.yaml" : "build/demo/opencl/profile.yaml";
  for (const char* candidate : {named, of_demo, "x86-avx512-2core"}) {
    if (candidate == nullptr || !toolkit::profile_exists(candidate)) continue;
    Result<hwdesc::Profile> p = toolkit::load_profile(candidate);
    if (p.ok()) {
      std::fprintf(stderr, "profile: %s\n", candidate);
      return *p;
    }
    std::fprintf(stderr, "%s", render(p.diags()).c_str());
  }
  std::exit(2);
}

namespace {

void fill_random(runtime::Module& m, runtime::BufferRange range, const ir::PlanTensor& t) {
  std::mt19937 rng(7);
  const double most = ir::is_whole(t.dtype) ? 100 : 1;
  std::uniform_real_distribution<double> d(-most, most);
  std::vector<double> v(static_cast<size_t>(t.bytes / ir::bytes_of(t.dtype)));
  for (double& x : v) x = d(rng);
  m.write(range, ir::bytes_of_doubles(t.dtype, v));
}

}  // namespace

std::unique_ptr<Ours> Ours::make(const std::string& api, const std::string& operator_text,
                                 int threads) {
  static std::map<std::string, hwdesc::Profile> profiles;
  if (!profiles.contains(api)) profiles[api] = bench_profile(api);
  const hwdesc::Profile& base = profiles[api];
  const auto fail = [](const Diags& d) {
    std::fprintf(stderr, "%s", render(d).c_str());
    return nullptr;
  };
  auto profile = toolkit::apply_overrides(
      base, std::vector<std::string>{"topology.unit.count=" + std::to_string(threads)});
  if (!profile.ok()) return fail(profile.diags());
  const auto target = toolkit::target_of(*profile, api);
  if (!target.ok()) return fail(target.diags());
  const auto graph = compiler::operator_for_kernels(operator_text);
  if (!graph.ok()) return fail(graph.diags());
  compiler::Options in_turn;
  in_turn.schedule = compiler::Schedule::off;
  auto compiled = compiler::compile(*graph, *target, in_turn);
  if (!compiled.ok()) return fail(compiled.diags());
  auto out = std::make_unique<Ours>();
  out->compiled_ = std::move(*compiled);
  const ir::Plan& plan = out->compiled_.plan;
  const auto kernels = toolkit::lower_plan(plan, *target);
  if (!kernels.ok()) return fail(kernels.diags());
  auto device = runtime::open(api == "cpp" ? "cpu:0" : api + ":0");
  if (!device.ok()) return fail(device.diags());
  out->device_ = std::move(*device);
  auto module = out->device_->load(*kernels, *target, {});
  if (!module.ok()) return fail(module.diags());
  out->module_ = std::move(*module);
  const auto arena = out->module_->allocate(std::max<int64_t>(64, plan.arena_bytes));
  const auto weights = out->module_->allocate(std::max<int64_t>(64, plan.weights_bytes));
  if (!arena.ok() || !weights.ok()) return nullptr;
  for (const ir::PlanTensor& t : plan.tensors)
    fill_random(*out->module_, {t.kind == ir::TensorKind::constant ? *weights : *arena, t.offset},
                t);
  for (const ir::Step& s : plan.steps) {
    runtime::Launch launch;
    launch.kernel = s.program;
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      const ir::PlanTensor& tensor = plan.tensors[static_cast<size_t>(s.arguments[i])];
      launch.arguments.push_back({tensor.kind == ir::TensorKind::constant ? *weights : *arena,
                                  ir::bytes_of_argument(plan, s, i).first});
    }
    out->launches_.push_back(std::move(launch));
  }
  return out;
}

std::unique_ptr<Ours> Ours::matmul(const std::string& api, const std::string& type, int n,
                                   int threads) {
  const std::string size = std::to_string(n);
  return make(api, "matmul m=" + size + " n=" + size + " k=" + size + " type=" + type, threads);
}

double Ours::seconds_per_call(double at_least) {
  runtime::RunOptions once;
  once.warm_up = 1;
  const auto first = module_->run(launches_, once);
  if (!first.ok()) return 1e9;
  const int calls = std::max(1, static_cast<int>(std::ceil(at_least / first->total[0])));
  std::vector<runtime::Launch> stream;  // consecutive calls, as in a driver's queue
  for (int i = 0; i < calls; ++i) stream.insert(stream.end(), launches_.begin(), launches_.end());
  const auto times = module_->run(stream, {});
  return times.ok() ? times->total[0] / calls : 1e9;
}

std::string Ours::description() const {
  const ir::Program& p = compiled_.plan.programs[0];
  std::string out = p.instruction.empty() ? "" : p.instruction + " ";
  for (const ir::TileLevel& t : p.tiles) {
    out += "[";
    for (size_t a = 0; a < t.extent.size(); ++a)
      out += (a > 0 ? " " : "") + std::to_string(t.extent[a]);
    out += "]";
  }
  for (const ir::Staging& s : p.staging)
    out += " staged " + std::to_string(s.read) + "@" + std::to_string(s.level);
  return out;
}

}  // namespace assay::bench
