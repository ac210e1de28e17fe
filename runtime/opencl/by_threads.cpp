#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/launch.h"
#include "runtime/opencl/launcher.h"
#include "runtime/opencl/merged.h"
#include "runtime/phases.h"

namespace assay::runtime::opencl {
namespace {

// A launch of the device.
struct Item {
  const BuiltKernel* kernel = nullptr;
  size_t groups = 0, threads = 1;                  // of a group
  std::function<cl_int(cl_kernel)> set_arguments;  // of its kernel, or of a copy of it
};

class ByThreads final : public Launcher {
 public:
  ByThreads(Loaded& loaded, int threads, MergedBuilder build, Buffer table)
      : loaded_(loaded),
        session_(loaded.session),
        threads_(static_cast<size_t>(threads)),
        merged_(session_, loaded.buffers, loaded.definitions, threads, std::move(build),
                std::move(table)) {}

  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;
  bool runs_phases() const override { return true; }
  Diags prepare(std::span<const Launch> launches, const RunOptions& options) override;
  double build_seconds() const override { return merged_.build_seconds(); }

 private:
  struct Work {
    std::span<const Launch> launches;
    const RunOptions& options;
    std::vector<std::vector<Item>> steps{};
    std::vector<cl_long> words{};  // the tables of merged launches
  };
  Result<Work> work_of(std::span<const Launch> launches, const RunOptions& options);
  void add_launch(const Launch& launch, std::vector<Item>& items) const;
  Diags add_merged(std::span<const int> part, Work& work);
  Diags run_once(const Work& work, RunTimes* times) const;
  Result<RunTimes> run_recorded(const Work& work) const;
  cl_int enqueue(const Item& item, std::vector<Owned<cl_event>>& events, const char*& call) const;
  cl_int record(const Item& item, Recording& to, const char*& call) const;
  cl_int set_arguments(const Launch& launch, int64_t first, cl_kernel kernel) const;
  Diag failure_at(const Work& work, size_t step, const char* call, cl_int status) const {
    return failure_of_step(loaded_, work.launches, work.options, step, call, status);
  }

  Loaded& loaded_;
  const Session& session_;
  size_t threads_;  // of a wave
  Merged merged_;
};

cl_int ByThreads::set_arguments(const Launch& launch, int64_t first, cl_kernel kernel) const {
  cl_uint position = 0;
  if (const cl_int s = bind_buffers(loaded_, launch, kernel, position)) return s;
  const cl_long number = first;
  return session_.api.clSetKernelArg(kernel, position, sizeof number, &number);
}

void ByThreads::add_launch(const Launch& launch, std::vector<Item>& items) const {
  const auto k = static_cast<size_t>(launch.kernel);
  const ir::Kernel& kernel = loaded_.definitions[k];
  for (const GroupRange& r : ranges_of(launch, kernel.groups))
    items.push_back(
        {&loaded_.build.kernels[k], static_cast<size_t>(r.end - r.begin),
         threads_ * static_cast<size_t>(kernel.waves),
         [this, &launch, r](cl_kernel to) { return set_arguments(launch, r.begin, to); }});
}

Diags ByThreads::add_merged(std::span<const int> part, Work& work) {
  std::vector<Merged::Call> calls;
  if (Diags faults = merged_.add(work.launches, part, calls, work.words); has_error(faults))
    return faults;
  for (const Merged::Call& c : calls)
    work.steps.back().push_back({c.kernel, c.groups, c.threads,
                                 [this, c](cl_kernel to) { return merged_.set_arguments(c, to); }});
  return {};
}

Result<ByThreads::Work> ByThreads::work_of(std::span<const Launch> launches,
                                           const RunOptions& options) {
  Work out{launches, options};
  const auto steps = steps_of(options, launches.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    out.steps.emplace_back();
    for (const std::vector<int>& part : merged_.parts_of(launches, steps[s])) {
      if (part.size() == 1) {
        add_launch(launches[static_cast<size_t>(part[0])], out.steps.back());
        continue;
      }
      Diags faults = add_merged(part, out);
      for (Diag& d : faults)
        d.message = fmt::format("{}: {}: {}", session_.id,
                                name_of_step(launches, loaded_.definitions, options, s), d.message);
      if (has_error(faults)) return faults;
    }
  }
  return out;
}

cl_int ByThreads::enqueue(const Item& item, std::vector<Owned<cl_event>>& events,
                          const char*& call) const {
  call = "clSetKernelArg";
  if (const cl_int s = item.set_arguments(item.kernel->entry)) return s;
  const size_t items = item.groups * item.threads;
  cl_event event = nullptr;
  call = "clEnqueueNDRangeKernel";
  if (const cl_int s =
          session_.api.clEnqueueNDRangeKernel(session_.queue.get(), item.kernel->entry, 1, nullptr,
                                              &items, &item.threads, 0, nullptr, &event))
    return s;
  events.push_back({event, session_.api.clReleaseEvent});
  return CL_SUCCESS;
}

cl_int ByThreads::record(const Item& item, Recording& to, const char*& call) const {
  cl_int status = CL_SUCCESS;
  call = "clCreateKernel";
  Owned<cl_kernel> kernel = copy_of(session_, *item.kernel, status);
  if (status != CL_SUCCESS) return status;
  call = "clSetKernelArg";
  if (const cl_int s = item.set_arguments(kernel.get())) return s;
  call = "clCommandNDRangeKernelKHR";
  return to.add(std::move(kernel), item.groups * item.threads, item.threads);
}

Result<RunTimes> ByThreads::run_recorded(const Work& work) const {
  auto recording = Recording::begin(session_);
  if (!recording) return recording.diags();
  for (size_t s = 0; s < work.steps.size(); ++s)
    for (const Item& item : work.steps[s]) {
      const char* call = "";
      if (const cl_int status = record(item, *recording, call))
        return failure_at(work, s, call, status);
    }
  return run_all(*recording, work.options);
}

Diags ByThreads::run_once(const Work& work, RunTimes* times) const {
  std::vector<Owned<cl_event>> events;
  std::vector<size_t> ends;
  const char* call = "";
  for (const std::vector<Item>& step : work.steps) {
    for (const Item& item : step) {
      const cl_int status = enqueue(item, events, call);
      if (status == CL_SUCCESS) continue;
      session_.api.clFinish(session_.queue.get());
      return {failure_at(work, ends.size(), call, status)};
    }
    ends.push_back(events.size());
  }
  size_t event = 0;
  if (const cl_int status = finish(session_, events, event, call); status != CL_SUCCESS) {
    const auto step = std::upper_bound(ends.begin(), ends.end(), event) - ends.begin();
    return {
        failure_at(work, std::min(static_cast<size_t>(step), work.steps.size() - 1), call, status)};
  }
  return times == nullptr ? Diags{} : read_steps(session_, events, ends, *times);
}

Diags ByThreads::prepare(std::span<const Launch> launches, const RunOptions& options) {
  const auto work = work_of(launches, options);
  return work ? Diags{} : work.diags();
}

Result<RunTimes> ByThreads::run(std::span<const Launch> launches, const RunOptions& options) {
  if (launches.empty()) return RunTimes{};
  const auto work = work_of(launches, options);
  if (!work) return work.diags();
  if (Diags faults = merged_.upload(work->words); has_error(faults)) return faults;
  if (options.recorded) return run_recorded(*work);
  return time_repeats(options, [&](RunTimes* times) { return run_once(*work, times); });
}

}  // namespace

Result<std::unique_ptr<Launcher>> make_by_threads(Loaded& loaded, int threads,
                                                  MergedBuilder build_merged) {
  auto table = make_buffer(loaded.session, 4096, 0);
  if (!table) return table.diags();
  return std::unique_ptr<Launcher>(std::make_unique<ByThreads>(
      loaded, threads, std::move(build_merged), std::move(table).value()));
}

}  // namespace assay::runtime::opencl
