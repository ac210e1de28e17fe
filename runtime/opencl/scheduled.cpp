#include "runtime/opencl/scheduled.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/render.h"
#include "runtime/schedule.h"

namespace assay::runtime::opencl {

namespace {

using Kind = ir::Command::Kind;

constexpr double kLongestKernel = 0.1;    // seconds: longer ones block other users of the device
constexpr double kGathering = 200e-6;     // seconds before a unit claims a second queue
constexpr double kPatience = 60;          // seconds: timeout of waiting for another unit
constexpr size_t kStateStride = 16;       // words of the kernel's state: each has its own line
constexpr cl_uint kMostStamps = 1 << 16;  // of a unit, in one kernel

}  // namespace

// What the kernel reads, and which command each row is.
struct Scheduled::Table {
  std::vector<cl_long> words;
  std::vector<std::vector<int>> commands;  // per unit and row: its command; -1: the last barrier
  cl_uint counters = 0;
  size_t most_rows = 0;
};

Scheduled::Scheduled(Loaded& loaded, Buffer table, Buffer state, Buffer times)
    : loaded_(loaded),
      session_(loaded.session),
      table_(std::move(table)),
      state_(std::move(state)),
      times_(std::move(times)) {}

Scheduled::Table Scheduled::table_of(std::span<const Launch> launches,
                                     std::span<const ir::Command> schedule) const {
  const int units = units_of(schedule);
  Table out;
  out.words.resize(static_cast<size_t>(units) + 1);
  std::vector<cl_long> launch_rows;
  for (const Launch& l : launches) {
    launch_rows.push_back(static_cast<cl_long>(out.words.size()));
    const auto k = static_cast<size_t>(l.kernel);
    out.words.insert(out.words.end(), {loaded_.build.kernels[k].number, 0, 0, 0, 0});
    for (const BufferRange& r : l.arguments) out.words.push_back(loaded_.buffers.address_of(r));
  }
  std::map<int, cl_long> numbers;  // of counters; a barrier has one of its own, below 0
  std::map<cl_long, cl_long> each;
  const auto number = [&](int counter) {
    return numbers.emplace(counter, static_cast<cl_long>(numbers.size())).first->second;
  };
  const int last_barrier = -static_cast<int>(schedule.size()) - 1;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const ir::Command& c = schedule[i];
    if (c.kind == Kind::signal) each[number(c.counter)] += c.last - c.first;
    if (c.kind == Kind::barrier) each[number(-static_cast<int>(i) - 1)] = units;
  }
  each[number(last_barrier)] = units;
  for (int u = 0; u < units; ++u) {
    out.words[static_cast<size_t>(u)] = static_cast<cl_long>(out.words.size());
    std::vector<int>& commands = out.commands.emplace_back();
    const auto add = [&](int command, cl_long kind, cl_long a, cl_long b = 0, cl_long c = 0) {
      out.words.insert(out.words.end(), {kind, a, b, c});
      commands.push_back(command);
    };
    const auto meet = [&](int command, int counter) {
      add(command, 1, number(counter));
      add(command, 2, number(counter), units, units);
    };
    for (size_t i = 0; i < schedule.size(); ++i) {
      const ir::Command& c = schedule[i];
      const int id = static_cast<int>(i);
      if (u < c.first || u >= c.last) continue;
      if (c.kind == Kind::run) {
        const auto [begin, end] = ir::groups_of(c, u);
        if (begin < end) add(id, 0, launch_rows[static_cast<size_t>(c.step)], begin, end);
      } else if (c.kind == Kind::signal) {
        add(id, 1, number(c.counter));
      } else if (c.kind == Kind::wait) {
        add(id, 2, number(c.counter), c.value, each[number(c.counter)]);
      } else {
        meet(id, -id - 1);
      }
    }
    meet(-1, last_barrier);
    out.most_rows = std::max(out.most_rows, commands.size());
  }
  out.words[static_cast<size_t>(units)] = static_cast<cl_long>(out.words.size());
  out.counters = static_cast<cl_uint>(numbers.size());
  return out;
}

// `stamps`: of each unit, when it was claimed and when each of its rows was over.
Diags Scheduled::run_repeats(const Table& table, cl_kernel kernel, size_t scratch, cl_uint repeats,
                             std::vector<cl_ulong>& stamps) {
  const auto units = static_cast<cl_uint>(table.commands.size());
  const auto each = static_cast<cl_uint>(1 + table.most_rows * repeats);
  const std::vector<cl_uint> fresh(kStateStride * (2 * units + table.counters + 1));
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
  const std::pair<size_t, const void*> all[] = {{sizeof rows, &rows},
                                                {sizeof state, &state},
                                                {sizeof times, &times},
                                                {sizeof repeats, &repeats},
                                                {sizeof units, &units},
                                                {sizeof each, &each},
                                                {sizeof table.counters, &table.counters},
                                                {sizeof gathering, &gathering},
                                                {sizeof patience, &patience},
                                                {std::max<size_t>(scratch, 1), nullptr}};
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
  const Table table = table_of(launches, options.schedule);
  if (Diags failed =
          upload(session_, table_, table.words.data(), table.words.size() * sizeof(cl_long));
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
        const auto seconds = [&](cl_ulong at) {
          return static_cast<double>(at < from ? 0 : at - from) / session_.ticks;
        };
        for (size_t i = 0; i < rows; ++i) {
          const int command = table.commands[u][i];
          if (command < 0) continue;
          if (!slices.empty() && slices.back().unit == static_cast<int>(u) &&
              slices.back().command == command)  // both rows of a barrier
            slices.back().end = seconds(of[i + 1]);
          else
            slices.push_back({static_cast<int>(u), command, seconds(of[i]), seconds(of[i + 1])});
        }
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
