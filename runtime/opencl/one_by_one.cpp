#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/launch.h"
#include "runtime/opencl/launcher.h"
#include "runtime/opencl/queues.h"

namespace assay::runtime::opencl {
namespace {

struct QueueRange {  // of one launch, in queues_
  int64_t first = 0;
  cl_uint count = 0;  // of each unit
};

class OneByOne final : public Launcher {  // invariant: every unit's claims counter is claimed_
 public:
  OneByOne(Loaded& loaded, Buffer claims, Buffer queues)
      : loaded_(loaded),
        session_(loaded.session),
        claims_(std::move(claims)),
        queues_(std::move(queues)) {}

  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;

 private:
  // Work-items of a launch: more than units, since drivers assign several at a time.
  size_t slots() const { return 2 * static_cast<size_t>(session_.units); }
  Diags write_queues(std::span<const Launch> launches);
  Diags run_once(std::span<const Launch> launches, RunTimes* times);
  Result<RunTimes> run_recorded(std::span<const Launch> launches, const RunOptions& options);
  cl_int set_arguments(const Launch& launch, const QueueRange& queues, cl_kernel kernel);

  Loaded& loaded_;
  const Session& session_;
  Buffer claims_;        // a counter per unit, each in its own line of 64 bytes; never reset
  cl_uint claimed_ = 0;  // value of each
  Buffer queues_;        // begin and end of each queue of each unit of each launch
  std::vector<cl_long> written_queues_;
  std::vector<QueueRange> queue_ranges_;
};

// Skipped if the queues have not changed.
Diags OneByOne::write_queues(std::span<const Launch> launches) {
  std::vector<cl_long> all;
  std::vector<QueueRange> ranges;
  for (const Launch& l : launches) {
    const Queues q =
        split_queues(l, loaded_.definitions[static_cast<size_t>(l.kernel)].groups, session_.units);
    ranges.push_back({static_cast<int64_t>(all.size()), q.count});
    all.insert(all.end(), q.ranges.begin(), q.ranges.end());
  }
  queue_ranges_ = std::move(ranges);
  if (all == written_queues_) return {};
  const size_t bytes = all.size() * sizeof(cl_long);
  if (static_cast<int64_t>(bytes) > queues_.bytes) {
    auto larger = make_buffer(session_, static_cast<int64_t>(2 * bytes), 0);
    if (!larger) return larger.diags();
    queues_ = std::move(larger).value();
  }
  const cl_int status =
      session_.api.clEnqueueWriteBuffer(session_.queue.get(), queues_.memory.get(), CL_TRUE, 0,
                                        bytes, all.data(), 0, nullptr, nullptr);
  if (status != CL_SUCCESS) return {failure("clEnqueueWriteBuffer", status)};
  written_queues_ = std::move(all);
  return {};
}

cl_int OneByOne::set_arguments(const Launch& launch, const QueueRange& queues, cl_kernel kernel) {
  const Api& api = session_.api;
  cl_uint position = 0;
  if (const cl_int s = bind_buffers(loaded_, launch, kernel, position)) return s;
  const cl_mem claims = claims_.memory.get(), rows = queues_.memory.get();
  const cl_long first = queues.first;
  const auto units = static_cast<cl_uint>(session_.units);
  const std::pair<size_t, const void*> rest[] = {{sizeof claims, &claims},
                                                 {sizeof rows, &rows},
                                                 {sizeof first, &first},
                                                 {sizeof claimed_, &claimed_},
                                                 {sizeof queues.count, &queues.count},
                                                 {sizeof units, &units}};
  for (const auto& [size, value] : rest)
    if (const cl_int s = api.clSetKernelArg(kernel, position++, size, value)) return s;
  return CL_SUCCESS;
}

Diags OneByOne::run_once(std::span<const Launch> launches, RunTimes* times) {
  const Api& api = session_.api;
  std::vector<Owned<cl_event>> events;
  const size_t one = 1, items = slots();
  cl_int status = CL_SUCCESS;
  const char* call = "";
  for (size_t l = 0; l < launches.size() && status == CL_SUCCESS; ++l) {
    const cl_kernel kernel = loaded_.build.kernels[static_cast<size_t>(launches[l].kernel)].entry;
    call = "clSetKernelArg";
    status = set_arguments(launches[l], queue_ranges_[l], kernel);
    if (status != CL_SUCCESS) break;
    call = "clEnqueueNDRangeKernel";
    cl_event event = nullptr;
    status = api.clEnqueueNDRangeKernel(session_.queue.get(), kernel, 1, nullptr, &items, &one, 0,
                                        nullptr, &event);
    if (status != CL_SUCCESS) break;
    claimed_ +=
        queue_ranges_[l].count + static_cast<cl_uint>(items);  // each work-item's last claim fails
    events.push_back({event, api.clReleaseEvent});
  }
  size_t at = std::min(events.size(), launches.size() - 1);
  if (status != CL_SUCCESS) {
    api.clFinish(session_.queue.get());
    return {failure_at(loaded_, launches, at, call, status)};
  }
  status = finish(session_, events, at, call);
  if (status != CL_SUCCESS) return {failure_at(loaded_, launches, at, call, status)};
  std::vector<size_t> ends(events.size());
  std::iota(ends.begin(), ends.end(), size_t{1});
  return times == nullptr ? Diags{} : read_steps(session_, events, ends, *times);
}

// A recording resets the counters to zero first; claimed_ is then what one execution adds.
Result<RunTimes> OneByOne::run_recorded(std::span<const Launch> launches,
                                        const RunOptions& options) {
  auto recording = Recording::begin(session_);
  if (!recording) return recording.diags();
  if (const cl_int s =
          recording->add_zeros(claims_.memory.get(), static_cast<size_t>(claims_.bytes)))
    return failure("clCommandFillBufferKHR", s);
  const cl_uint before = std::exchange(claimed_, 0);
  for (size_t l = 0; l < launches.size(); ++l) {
    const char* call = "clCreateKernel";
    cl_int status = CL_SUCCESS;
    Owned<cl_kernel> kernel =
        copy_of(session_, loaded_.build.kernels[static_cast<size_t>(launches[l].kernel)], status);
    if (status == CL_SUCCESS) {
      call = "clSetKernelArg";
      status = set_arguments(launches[l], queue_ranges_[l], kernel.get());
    }
    if (status == CL_SUCCESS) {
      call = "clCommandNDRangeKernelKHR";
      status = recording->add(std::move(kernel), slots(), 1);
    }
    if (status != CL_SUCCESS) {
      claimed_ = before;  // nothing has run
      return failure_at(loaded_, launches, l, call, status);
    }
    claimed_ += queue_ranges_[l].count + static_cast<cl_uint>(slots());
  }
  auto times = run_all(*recording, options);
  if (!times || times->total.empty()) claimed_ = before;  // nothing has run, or nothing that counts
  return times;
}

Result<RunTimes> OneByOne::run(std::span<const Launch> launches, const RunOptions& options) {
  const Diags unwritten = write_queues(launches);
  if (has_error(unwritten)) return unwritten;
  if (options.recorded && !launches.empty()) return run_recorded(launches, options);
  return time_repeats(options, [&](RunTimes* times) {
    return launches.empty() ? Diags{} : run_once(launches, times);
  });
}

}  // namespace

Result<std::unique_ptr<Launcher>> make_one_by_one(Loaded& loaded) {
  auto claims = make_buffer(loaded.session, int64_t{64} * loaded.session.units, 0);
  if (!claims) return claims.diags();
  auto queues = make_buffer(loaded.session, 4096, 0);
  if (!queues) return queues.diags();
  return std::unique_ptr<Launcher>(
      std::make_unique<OneByOne>(loaded, std::move(claims).value(), std::move(queues).value()));
}

}  // namespace assay::runtime::opencl
