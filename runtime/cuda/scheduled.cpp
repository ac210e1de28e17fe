#include "runtime/cuda/scheduled.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/render.h"
#include "runtime/cuda/function.h"
#include "runtime/launch.h"
#include "runtime/schedule.h"

namespace assay::runtime::cuda {
namespace {

constexpr double kTicks = 1e9;  // of the kernel's clock, per second

std::vector<int> kernels_of(std::span<const Launch> launches) {
  std::set<int> used;
  for (const Launch& l : launches) used.insert(l.kernel);
  return {used.begin(), used.end()};
}

}  // namespace

// What the repeats of a run share.
struct Scheduled::Work {
  std::span<const Launch> launches;
  const RunOptions& options;
  QueueTable table;
  Owned<Address> words, state, stamps;
  Owned<Event> begin, end;
  size_t state_bytes() const {
    return sizeof(uint32_t) * kCounterStride * static_cast<size_t>(table.counters + 1);
  }
  size_t units() const { return table.commands.size(); }
  size_t stamps_of_unit() const { return table.most_rows + 1; }
};

Diag Scheduled::failure_of(const char* call, Status status) const {
  Diag d = failure(session_.api, call, status);
  d.message = fmt::format("{}: the schedule: {}", session_.id, d.message);
  return d;
}

Refusal Scheduled::unsuitable(std::span<const int> kernels) const {
  if (session_.limits.scheduled_units == 0)
    return {session_.id + " does not launch groups that all run at once", ""};
  if (threads_ == 1) return {"groups of one thread do not stay on units", ""};
  int waves = 1;
  for (const int k : kernels) waves = std::max(waves, kernels_[static_cast<size_t>(k)].waves);
  for (const int i : kernels) {
    const ir::Kernel& k = kernels_[static_cast<size_t>(i)];
    const int threads = threads_ * k.waves;
    if (has_constants(k))
      return {fmt::format("kernel '{}' reads constants, which are filled before a launch", k.name),
              "compile with `--schedule off`"};
    if (threads % kBarrierLanes != 0 && (k.waves != waves || threads > kBarrierLanes))
      return {fmt::format("kernel '{}' has groups of {} threads, and barriers beside other kernels "
                          "are of whole waves of {}",
                          k.name, threads, kBarrierLanes),
              ""};
  }
  return {};
}

// By what limits it most.
Refusal Scheduled::too_few(const Ready& ready, int fitting) const {
  const Limits& l = session_.limits;
  const int registers = std::max(1, registers_of(session_.api, ready.function));
  const double by_threads =
                   static_cast<double>(l.unit_threads) / static_cast<double>(ready.threads),
               by_registers = static_cast<double>(l.unit_registers) /
                              static_cast<double>(registers * ready.threads),
               by_memory = static_cast<double>(l.unit_bytes) /
                           static_cast<double>(ready.group_bytes + l.reserved_bytes + 1);
  const double least = std::min({by_threads, by_registers, by_memory});
  const auto need = [&](int k) -> int64_t {
    const auto i = static_cast<size_t>(k);
    if (least == by_memory) return codegen::scratch_bytes(kernels_[i]);
    return least == by_threads ? threads_ * kernels_[i].waves : reports_[i].registers;
  };
  const int most = *std::ranges::max_element(ready.kernels, {}, need);
  const std::string needs = least == by_memory    ? "{} bytes of group memory"
                            : least == by_threads ? "{} threads"
                                                  : "{} registers in each thread";
  return {
      fmt::format("{} of the schedule's groups fit a unit of {}, the plan has `resident: {}`: "
                  "kernel '{}' needs {}",
                  fitting, session_.id, ready.resident, kernels_[static_cast<size_t>(most)].name,
                  fmt::format(fmt::runtime(needs), need(most))),
      fitting > 0 ? fmt::format("`resident: {}`, or compile with `--schedule off`", fitting)
                  : "compile with `--schedule off`"};
}

Result<Scheduled::Ready> Scheduled::load(std::vector<int> kernels, int resident) {
  const Api& api = session_.api;
  std::vector<ir::Kernel> list;
  Ready out{std::move(kernels), {}, resident};
  for (const int k : out.kernels) {
    list.push_back(kernels_[static_cast<size_t>(k)]);
    out.threads = std::max(out.threads, int64_t{threads_} * list.back().waves);
    out.group_bytes = std::max(out.group_bytes, codegen::scratch_bytes(list.back()));
  }
  auto built = build_(list, resident);
  if (!built) return built.diags();
  build_seconds_ += built->seconds;
  out.numbers = std::move(built->numbers);
  const auto bytes = read_file(built->kernel.cubin);
  if (!bytes)
    return error(fmt::format("the schedule: '{}' can not be read", built->kernel.cubin.string()));
  Code code = nullptr;
  if (const Status s = api.load_code(&code, bytes->data()))
    return failure_of("cuModuleLoadData", s);
  out.code = {code, api.unload_code};
  if (const Status s = api.get_function(&out.function, code, built->kernel.entry.c_str()))
    return failure_of("cuModuleGetFunction", s);
  const int share = share_of_groups(session_.limits, out.group_bytes, resident);
  if (const Status s = set_group_memory(api, out.function, out.group_bytes, share))
    return failure_of("cuFuncSetAttribute", s);
  int fitting = 0;
  if (const Status s = api.count_fitting(&fitting, out.function, static_cast<int>(out.threads),
                                         static_cast<size_t>(out.group_bytes)))
    return failure_of("cuOccupancyMaxActiveBlocksPerMultiprocessor", s);
  if (fitting < resident) out.refusal = too_few(out, fitting);
  return out;
}

Result<Refusal> Scheduled::prepare(std::span<const Launch> launches, int resident) {
  if (resident < 1) return error(fmt::format("{} resident groups on a unit", resident));
  std::vector<int> kernels = kernels_of(launches);
  if (kernels.empty()) return Refusal{};
  if (Refusal r = unsuitable(kernels); !r.reason.empty()) return r;
  if (!ready_ || ready_->kernels != kernels || ready_->resident != resident) {
    auto made = load(std::move(kernels), resident);
    if (!made) return made.diags();
    ready_ = std::move(*made);
  }
  return ready_->refusal;
}

QueueTable Scheduled::table_of(std::span<const Launch> launches, const RunOptions& options) const {
  std::vector<std::vector<int64_t>> words;
  for (const Launch& l : launches) {
    const auto at = std::ranges::find(ready_->kernels, l.kernel) - ready_->kernels.begin();
    std::vector<int64_t>& of = words.emplace_back();
    of.push_back(ready_->numbers[static_cast<size_t>(at)]);
    for (const BufferRange& r : l.arguments)
      of.push_back(static_cast<int64_t>(buffers_.argument_of(r)));
  }
  return queue_table(options.schedule, words, {options.resident, false});
}

Result<Scheduled::Work> Scheduled::work_of(std::span<const Launch> launches,
                                           const RunOptions& options) const {
  const Api& api = session_.api;
  Work out{launches, options, table_of(launches, options), {}, {}, {}, {}, {}};
  const auto room = [&](Owned<Address>& to, size_t bytes) {
    Address address = 0;
    const Status s = api.allocate(&address, bytes);
    if (s == kSuccess) to = {address, api.free};
    return s;
  };
  const size_t word_bytes = out.table.words.size() * sizeof(int64_t);
  Status s = room(out.words, word_bytes);
  if (s == kSuccess) s = room(out.state, out.state_bytes());
  if (s == kSuccess && options.traced)
    s = room(out.stamps, out.units() * out.stamps_of_unit() * sizeof(uint64_t));
  if (s != kSuccess) return failure_of("cuMemAlloc", s);
  for (Owned<Event>* e : {&out.begin, &out.end}) {
    Event event = nullptr;
    if (const Status failed = api.create_event(&event, 0))
      return failure_of("cuEventCreate", failed);
    *e = {event, api.destroy_event};
  }
  s = api.copy_in(out.words.get(), out.table.words.data(), word_bytes, session_.stream.get());
  if (s == kSuccess) s = api.synchronize(session_.stream.get());
  if (s != kSuccess) return failure_of("cuMemcpyHtoDAsync", s);
  return out;
}

Status Scheduled::launch(const Work& work) const {
  Address zero = 0, words = work.words.get(), state = work.state.get(), stamps = work.stamps.get();
  auto each = static_cast<long long>(work.stamps_of_unit());
  auto patience = static_cast<unsigned long long>(kPatience * kTicks);
  std::array<void*, 6> arguments{&zero, &words, &state, &stamps, &each, &patience};
  const auto blocks = static_cast<unsigned>(work.units()) * static_cast<unsigned>(ready_->resident);
  return session_.api.launch_together(
      ready_->function, blocks, 1, 1, static_cast<unsigned>(ready_->threads), 1, 1,
      static_cast<unsigned>(ready_->group_bytes), session_.stream.get(), arguments.data());
}

Diags Scheduled::read_stamps(const Work& work, RunTimes& times) const {
  const size_t each = work.stamps_of_unit();
  std::vector<uint64_t> stamps(work.units() * each);
  const Stream stream = session_.stream.get();
  Status s = session_.api.copy_out(stamps.data(), work.stamps.get(),
                                   stamps.size() * sizeof(uint64_t), stream);
  if (s == kSuccess) s = session_.api.synchronize(stream);
  if (s != kSuccess) return {failure_of("cuMemcpyDtoHAsync", s)};
  uint64_t begin = stamps[0];
  for (size_t u = 0; u < work.units(); ++u) begin = std::min(begin, stamps[u * each]);
  times.slices.clear();
  for (size_t u = 0; u < work.units(); ++u)
    add_slices(times.slices, static_cast<int>(u), work.table.commands[u],
               std::span(stamps).subspan(u * each, each), begin, kTicks);
  add_steps(times, times.slices, work.options.schedule, work.launches.size());
  return {};
}

// `times`: null in a warm-up.
Diags Scheduled::run_once(const Work& work, RunTimes* times) const {
  const Api& api = session_.api;
  const Stream stream = session_.stream.get();
  uint32_t gave_up = 0;
  float milliseconds = 0;
  if (const Status s = api.set_bytes(work.state.get(), 0, work.state_bytes(), stream))
    return {failure_of("cuMemsetD8Async", s)};
  if (const Status s = api.record_event(work.begin.get(), stream))
    return {failure_of("cuEventRecord", s)};
  if (const Status s = launch(work)) return {failure_of("cuLaunchCooperativeKernel", s)};
  if (const Status s = api.record_event(work.end.get(), stream))
    return {failure_of("cuEventRecord", s)};
  if (const Status s = api.copy_out(&gave_up, work.state.get(), sizeof gave_up, stream))
    return {failure_of("cuMemcpyDtoHAsync", s)};
  if (const Status s = api.synchronize(stream)) return {failure_of("its kernel", s)};
  if (gave_up != 0)
    return {error(fmt::format("a unit of {} waited {} s for another one", session_.id, kPatience))};
  if (times == nullptr) return {};
  if (const Status s = api.elapsed(&milliseconds, work.begin.get(), work.end.get()))
    return {failure_of("cuEventElapsedTime", s)};
  times->total.push_back(static_cast<double>(milliseconds) * 1e-3);
  return work.options.traced ? read_stamps(work, *times) : Diags{};
}

Result<RunTimes> Scheduled::run(std::span<const Launch> launches, const RunOptions& options) {
  std::vector<int64_t> groups;
  for (const Launch& l : launches) groups.push_back(kernels_[static_cast<size_t>(l.kernel)].groups);
  if (Diags faults = check_schedule(options.schedule, groups, session_.limits.scheduled_units);
      !faults.empty())
    return faults;
  if (launches.empty()) return RunTimes{};
  const auto refusal = prepare(launches, options.resident);
  if (!refusal) return refusal.diags();
  if (!refusal->reason.empty()) return error(refusal->reason, refusal->hint);
  auto work = work_of(launches, options);
  if (!work) return work.diags();
  return time_repeats(options, [&](RunTimes* times) { return run_once(*work, times); });
}

}  // namespace assay::runtime::cuda
