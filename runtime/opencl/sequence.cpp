#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codegen/render.h"
#include "runtime/opencl/launcher.h"
#include "runtime/opencl/queues.h"
#include "runtime/opencl/scheduled.h"

namespace assay::runtime::opencl {
namespace {

constexpr double kLongestKernel = 0.1;  // seconds: longer ones block other users of the device
constexpr double kGathering = 200e-6;   // seconds that a unit waits for the others to start
constexpr double kPatience = 60;        // seconds: timeout of waiting for another unit
constexpr size_t kStateStride = 16;     // words of the kernel's state: each has its own line
constexpr cl_uint kMostLaunches = 1 << 16;

// Consecutive launches of one built sequence.
struct Segment {
  cl_kernel kernel = nullptr;
  size_t first = 0, rows = 0;  // launches
  size_t at = 0;               // of its part of the table
  cl_uint tickets = 0;         // of each unit
  cl_uint queues = 0;          // of all units
  size_t scratch = 1;          // bytes
};

class InSequence final : public Launcher {  // invariant: table_ holds written_
 public:
  InSequence(Loaded& loaded, Buffer table, Buffer state, Buffer times, Scheduled scheduled)
      : loaded_(loaded),
        session_(loaded.session),
        table_(std::move(table)),
        state_(std::move(state)),
        times_(std::move(times)),
        scheduled_(std::move(scheduled)) {}

  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;

 private:
  size_t units() const { return static_cast<size_t>(session_.units); }
  size_t state_words() const { return kStateStride * (2 * units() + 2); }
  std::vector<Segment> segments_of(std::span<const Launch> launches,
                                   std::vector<cl_long>& table) const;
  std::vector<cl_long> row_of(const Launch& launch, Segment& segment, size_t at) const;
  Diags run_segment(std::span<const Launch> launches, const Segment& s, cl_uint repeats,
                    std::vector<double>& steps, std::vector<double>& busy);
  cl_int set_arguments(const Segment& s, cl_uint launches);
  Result<std::vector<double>> boundaries(size_t launches) const;

  Loaded& loaded_;
  const Session& session_;
  Buffer table_, state_, times_;
  Scheduled scheduled_;
  std::vector<cl_long> written_;
};

std::vector<cl_long> InSequence::row_of(const Launch& launch, Segment& segment, size_t at) const {
  const auto k = static_cast<size_t>(launch.kernel);
  const ir::Kernel& kernel = loaded_.definitions[k];
  const Queues queues = split_queues(launch, kernel.groups, session_.units);
  std::vector<cl_long> row{loaded_.build.kernels[k].number, segment.tickets, queues.count, 0, 0};
  for (const BufferRange& r : launch.arguments) row.push_back(loaded_.buffers.address_of(r));
  segment.tickets += queues.count;
  segment.queues += queues.count * static_cast<cl_uint>(session_.units);
  row[3] = segment.queues;
  row[4] = static_cast<cl_long>(at + row.size());
  row.insert(row.end(), queues.ranges.begin(), queues.ranges.end());
  return row;
}

std::vector<Segment> InSequence::segments_of(std::span<const Launch> launches,
                                             std::vector<cl_long>& table) const {
  std::vector<Segment> out;
  for (size_t l = 0; l < launches.size(); ++l) {
    const auto k = static_cast<size_t>(launches[l].kernel);
    const cl_kernel kernel = loaded_.build.kernels[k].entry;
    if (out.empty() || out.back().kernel != kernel) out.push_back({kernel, l, 0});
    ++out.back().rows;
    out.back().scratch = std::max(
        out.back().scratch, static_cast<size_t>(codegen::scratch_bytes(loaded_.definitions[k])));
  }
  for (Segment& s : out) {
    s.at = table.size();
    table.resize(table.size() + s.rows);
    for (size_t r = 0; r < s.rows; ++r) {
      table[s.at + r] = static_cast<cl_long>(table.size());
      const std::vector<cl_long> row = row_of(launches[s.first + r], s, table.size());
      table.insert(table.end(), row.begin(), row.end());
    }
  }
  return out;
}

cl_int InSequence::set_arguments(const Segment& s, cl_uint launches) {
  const cl_mem table = table_.memory.get(), state = state_.memory.get(),
               times = times_.memory.get();
  const auto at = static_cast<cl_long>(s.at);
  const auto rows = static_cast<cl_uint>(s.rows), units = static_cast<cl_uint>(session_.units);
  const auto gathering = static_cast<cl_ulong>(kGathering * session_.ticks);
  const auto patience = static_cast<cl_ulong>(kPatience * session_.ticks);
  const std::pair<size_t, const void*> all[] = {
      {sizeof table, &table},         {sizeof at, &at},
      {sizeof state, &state},         {sizeof times, &times},
      {sizeof launches, &launches},   {sizeof rows, &rows},
      {sizeof s.tickets, &s.tickets}, {sizeof s.queues, &s.queues},
      {sizeof units, &units},         {sizeof gathering, &gathering},
      {sizeof patience, &patience},   {s.scratch, nullptr}};
  cl_uint position = 0;
  for (const auto& [size, value] : all)
    if (const cl_int status = session_.api.clSetKernelArg(s.kernel, position++, size, value))
      return status;
  return CL_SUCCESS;
}

// Seconds since the first unit started: 0, then the last arrival after each launch. Times are 0 for
// units that never started and for launches in which a unit had no work.
Result<std::vector<double>> InSequence::boundaries(size_t launches) const {
  std::vector<cl_ulong> ticks(units() * (launches + 1));
  const cl_int status = session_.api.clEnqueueReadBuffer(
      session_.queue.get(), times_.memory.get(), CL_TRUE, 0, ticks.size() * sizeof(cl_ulong),
      ticks.data(), 0, nullptr, nullptr);
  if (status != CL_SUCCESS) return failure("clEnqueueReadBuffer", status);
  cl_ulong begun = 0;
  std::vector<cl_ulong> last(launches + 1);
  for (size_t u = 0; u < units(); ++u) {
    const cl_ulong* of_unit = &ticks[u * (launches + 1)];
    if (of_unit[0] == 0) continue;
    begun = begun == 0 ? of_unit[0] : std::min(begun, of_unit[0]);
    for (size_t l = 1; l <= launches; ++l) last[l] = std::max(last[l], of_unit[l]);
  }
  std::vector<double> out{0};
  for (size_t l = 1; l <= launches; ++l) {
    if (begun == 0 || last[l] < begun)
      return error(fmt::format("{}: launches were not executed", session_.id));
    out.push_back(std::max(out.back(), static_cast<double>(last[l] - begun) / session_.ticks));
  }
  return out;
}

// Appends the times of its launches, `repeats` times over.
Diags InSequence::run_segment(std::span<const Launch> launches, const Segment& s, cl_uint repeats,
                              std::vector<double>& steps, std::vector<double>& busy) {
  const size_t count = s.rows * repeats;
  const std::vector<cl_uint> fresh(state_words());
  Diags failed = upload(session_, state_, fresh.data(), fresh.size() * sizeof(cl_uint));
  if (has_error(failed)) return failed;
  const std::vector<cl_ulong> none(units() * (count + 1));
  failed = upload(session_, times_, none.data(), none.size() * sizeof(cl_ulong));
  if (has_error(failed)) return failed;

  const Api& api = session_.api;
  const size_t one = 1,
               items = 2 * units();  // more than units: a driver may give several to one of them
  const char* call = "clSetKernelArg";
  cl_int status = set_arguments(s, static_cast<cl_uint>(count));
  if (status != CL_SUCCESS) return {failure_at(loaded_, launches, s.first, call, status)};
  cl_event event = nullptr;
  call = "clEnqueueNDRangeKernel";
  status = api.clEnqueueNDRangeKernel(session_.queue.get(), s.kernel, 1, nullptr, &items, &one, 0,
                                      nullptr, &event);
  if (status != CL_SUCCESS) return {failure_at(loaded_, launches, s.first, call, status)};
  const Owned<cl_event> owned{event, api.clReleaseEvent};
  size_t at = 0;
  status = finish(session_, {&owned, 1}, at, call);
  if (status != CL_SUCCESS) return {failure_at(loaded_, launches, s.first, call, status)};

  const auto outside = times_of(session_, event);
  if (!outside) return outside.diags();
  const auto inside = boundaries(count);
  if (!inside)
    return {error(fmt::format("{}; a unit of {} waited {} s for another one",
                              inside.diags()[0].message, session_.id, kPatience))};
  const double launch_overhead =
      std::max(0.0, static_cast<double>(outside->end - outside->queued) * 1e-9 - inside->back());
  for (size_t l = 0; l < count; ++l) {
    busy.push_back((*inside)[l + 1] - (*inside)[l]);
    steps.push_back(busy.back() + (l == 0 ? launch_overhead : 0));
  }
  return {};
}

Result<RunTimes> InSequence::run(std::span<const Launch> launches, const RunOptions& options) {
  RunTimes out;
  if (options.recorded)
    return error("one kernel executes all launches here, so there is nothing to record");
  if (!options.schedule.empty()) return scheduled_.run(launches, options);
  if (launches.empty()) return out;
  std::vector<cl_long> table;
  const std::vector<Segment> segments = segments_of(launches, table);
  if (table != written_) {
    written_.clear();
    if (const Diags failed = upload(session_, table_, table.data(), table.size() * sizeof(cl_long));
        has_error(failed))
      return failed;
    written_ = std::move(table);
  }
  const int all = options.warm_up + options.repeat;
  double once = kLongestKernel;  // seconds; the first repetition is a kernel of its own
  for (int done = 0; done < all;) {
    if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
    const int until = done < options.warm_up ? options.warm_up : all;
    const double fitting =
        std::min(kLongestKernel / once,
                 static_cast<double>(kMostLaunches) / static_cast<double>(launches.size()));
    const auto repeats =
        segments.size() > 1
            ? 1u
            : static_cast<cl_uint>(std::clamp(fitting, 1.0, static_cast<double>(until - done)));
    std::vector<double> steps, busy;
    for (const Segment& s : segments)
      if (const Diags failed = run_segment(launches, s, repeats, steps, busy); has_error(failed))
        return failed;
    once = 0;
    for (const double s : busy) once += s / repeats;
    for (cl_uint r = 0; r < repeats && done >= options.warm_up; ++r) {
      const auto from = static_cast<ptrdiff_t>(r * launches.size()),
                 to = from + static_cast<ptrdiff_t>(launches.size());
      out.steps.emplace_back(steps.begin() + from, steps.begin() + to);
      out.busy.emplace_back(busy.begin() + from, busy.begin() + to);
      double total = 0;
      for (const double s : out.steps.back()) total += s;
      out.total.push_back(total);
    }
    done += static_cast<int>(repeats);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Launcher>> make_in_sequence(Loaded& loaded) {
  std::vector<Buffer> made;
  for (int i = 0; i < 6; ++i) {
    auto buffer = make_buffer(loaded.session, 4096, 0);
    if (!buffer) return buffer.diags();
    made.push_back(std::move(buffer).value());
  }
  return std::unique_ptr<Launcher>(std::make_unique<InSequence>(
      loaded, std::move(made[0]), std::move(made[1]), std::move(made[2]),
      Scheduled(loaded, std::move(made[3]), std::move(made[4]), std::move(made[5]))));
}

}  // namespace assay::runtime::opencl
