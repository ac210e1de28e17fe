#include "runtime/opencl/scheduled.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render.h"
#include "runtime/schedule.h"

namespace assay::runtime::opencl {

namespace {

constexpr double kLongestKernel = 0.1;    // seconds: longer ones block other users of the device
constexpr double kGathering = 200e-6;     // seconds before a unit claims a second queue
constexpr cl_uint kMostStamps = 1 << 16;  // of a unit, in one kernel

}  // namespace

Scheduled::Scheduled(Loaded& loaded, Buffer table, Buffer state, Buffer times)
    : loaded_(loaded),
      session_(loaded.session),
      table_(std::move(table)),
      state_(std::move(state)),
      times_(std::move(times)) {}

QueueTable Scheduled::table_of(std::span<const Launch> launches,
                               std::span<const ir::Command> schedule) const {
  std::vector<std::vector<int64_t>> words;
  for (const Launch& l : launches) {
    const auto k = static_cast<size_t>(l.kernel);
    std::vector<int64_t>& of = words.emplace_back();
    of = {loaded_.build.kernels[k].number, 0, 0, 0, 0};  // as a sequence has them
    for (const BufferRange& r : l.arguments) of.push_back(loaded_.buffers.address_of(r));
  }
  return queue_table(schedule, words, {1, true});
}

// `stamps`: of each unit, when it was claimed and when each of its rows was over.
Diags Scheduled::run_repeats(const QueueTable& table, cl_kernel kernel, size_t scratch,
                             cl_uint repeats, std::vector<cl_ulong>& stamps) {
  const auto units = static_cast<cl_uint>(table.commands.size());
  const auto each = static_cast<cl_uint>(1 + table.most_rows * repeats);
  const auto counters = static_cast<cl_uint>(table.counters);
  const std::vector<cl_uint> fresh(kCounterStride * (2 * units + counters + 1));
  if (Diags failed = upload(session_, state_, fresh.data(), fresh.size() * sizeof(cl_uint));
      has_error(failed))
    return failed;
  stamps.assign(size_t{each} * units, 0);
  if (Diags failed = upload(session_, times_, stamps.data(), stamps.size() * sizeof(cl_ulong));
      has_error(failed))
    return failed;
  const cl_mem rows = table_.memory.get(), state = state_.memory.get(), times = times_.memory.get();
  const auto gathering = static_cast<cl_ulong>(kGathering * session_.ticks);
  const auto patience = static_cast<cl_ulong>(kPatience * session_.ticks);
  const std::pair<size_t, const void*> all[] = {
      {sizeof rows, &rows},         {sizeof state, &state},
      {sizeof times, &times},       {sizeof repeats, &repeats},
      {sizeof units, &units},       {sizeof each, &each},
      {sizeof counters, &counters}, {sizeof gathering, &gathering},
      {sizeof patience, &patience}, {std::max<size_t>(scratch, 1), nullptr}};
  const Api& api = session_.api;
  cl_uint position = 0;
  for (const auto& [size, value] : all)
    if (const cl_int status = api.clSetKernelArg(kernel, position++, size, value))
      return {failure("clSetKernelArg", status)};
  const size_t one = 1, items = 2 * size_t{units};  // a driver may give several to one unit
  cl_event event = nullptr;
  cl_int status = api.clEnqueueNDRangeKernel(session_.queue.get(), kernel, 1, nullptr, &items, &one,
                                             0, nullptr, &event);
  if (status != CL_SUCCESS) return {failure("clEnqueueNDRangeKernel", status)};
  const Owned<cl_event> owned{event, api.clReleaseEvent};
  size_t at = 0;
  const char* call = "";
  status = finish(session_, {&owned, 1}, at, call);
  if (status != CL_SUCCESS) return {failure(call, status)};
  status =
      api.clEnqueueReadBuffer(session_.queue.get(), times, CL_TRUE, 0,
                              stamps.size() * sizeof(cl_ulong), stamps.data(), 0, nullptr, nullptr);
  if (status != CL_SUCCESS) return {failure("clEnqueueReadBuffer", status)};
  for (size_t u = 0; u < units; ++u)
    if (stamps[u * each + table.commands[u].size() * repeats] == 0)
      return {
          error(fmt::format("a unit of {} waited {} s for another one", session_.id, kPatience))};
  return {};
}

Result<RunTimes> Scheduled::run(std::span<const Launch> launches, const RunOptions& options) {
  std::vector<int64_t> groups;
  size_t scratch = 0;
  const BuiltKernel* first = nullptr;
  for (const Launch& l : launches) {
    const auto k = static_cast<size_t>(l.kernel);
    const BuiltKernel& built = loaded_.build.kernels[k];
    if (first != nullptr && built.entry != first->entry)
      return error(fmt::format("{}: the schedule's kernels are in several programs", session_.id),
                   "compile with `--schedule off`");
    first = &built;
    groups.push_back(loaded_.definitions[k].groups);
    scratch =
        std::max(scratch, static_cast<size_t>(codegen::scratch_bytes(loaded_.definitions[k])));
  }
  if (Diags faults = check_schedule(options.schedule, groups, session_.units); !faults.empty())
    return faults;
  RunTimes out;
  if (first == nullptr) return out;
  const QueueTable table = table_of(launches, options.schedule);
  if (Diags failed =
          upload(session_, table_, table.words.data(), table.words.size() * sizeof(int64_t));
      has_error(failed))
    return failed;
  const int all = options.warm_up + options.repeat;
  double once = kLongestKernel;  // seconds; the first repetition is a kernel of its own
  std::vector<cl_ulong> stamps;
  for (int done = 0; done < all;) {
    if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
    const int until = done < options.warm_up ? options.warm_up : all;
    const double fitting =
        std::min(kLongestKernel / once,
                 static_cast<double>(kMostStamps) / static_cast<double>(table.most_rows));
    const auto repeats =
        static_cast<cl_uint>(std::clamp(fitting, 1.0, static_cast<double>(until - done)));
    if (Diags failed = run_repeats(table, first->queues, scratch, repeats, stamps);
        has_error(failed))
      return failed;
    const size_t each = 1 + table.most_rows * repeats;
    cl_ulong from = stamps[0];
    for (size_t u = 0; u < table.commands.size(); ++u) from = std::min(from, stamps[u * each]);
    const cl_ulong started = from;
    for (cl_uint r = 0; r < repeats; ++r) {
      cl_ulong to = from;
      std::vector<Slice> slices;
      for (size_t u = 0; u < table.commands.size(); ++u) {
        const size_t rows = table.commands[u].size();
        const cl_ulong* of = &stamps[u * each + r * rows];  // the end of the row before
        to = std::max(to, of[rows]);
        add_slices(slices, static_cast<int>(u), table.commands[u], std::span(of, rows + 1), from,
                   session_.ticks);
      }
      if (done + static_cast<int>(r) >= options.warm_up) {
        out.total.push_back(static_cast<double>(to - from) / session_.ticks);
        if (options.traced) {
          add_steps(out, slices, options.schedule, launches.size());
          out.slices = std::move(slices);
        }
      }
      from = to;
    }
    once = std::max(1e-7, static_cast<double>(from - started) / session_.ticks / repeats);
    done += static_cast<int>(repeats);
  }
  return out;
}

}  // namespace assay::runtime::opencl
