#include "runtime/cuda/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render.h"
#include "runtime/cuda/function.h"
#include "runtime/phases.h"

namespace assay::runtime::cuda {

Result<Steps::Work> Steps::work_of(std::span<const Launch> launches, const RunOptions& options) {
  Work out{launches, options};
  const auto steps = steps_of(options, launches.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    std::vector<Piece>& pieces = out.steps.emplace_back();
    for (const std::vector<int>& part : merged_.parts_of(launches, steps[s])) {
      if (part.size() == 1) {
        pieces.push_back({part[0]});
        continue;
      }
      std::vector<Merged::Call> calls;
      if (Diags faults = merged_.add(launches, part, calls, out.words); has_error(faults)) {
        for (Diag& d : faults)
          d.message =
              fmt::format("{}: {}: {}", session_.id,
                          name_of_step(launches, kernels_.definitions, options, s), d.message);
        return faults;
      }
      for (const Merged::Call& c : calls) pieces.push_back({-1, c});
    }
  }
  return out;
}

Diags Steps::upload(Work& work) const {
  if (work.words.empty()) return {};
  const Api& api = session_.api;
  const size_t bytes = work.words.size() * sizeof(int64_t);
  Address address = 0;
  if (const Status s = api.allocate(&address, bytes)) return {failure(api, "cuMemAlloc", s)};
  work.table = {address, api.free};
  Status s = api.copy_in(address, work.words.data(), bytes, session_.stream.get());
  if (s == kSuccess) s = api.synchronize(session_.stream.get());
  return s == kSuccess ? Diags{} : Diags{failure(api, "cuMemcpyHtoDAsync", s)};
}

Diags Steps::make_events(size_t count) {
  while (events_.size() < count) {
    Event event = nullptr;
    if (const Status s = session_.api.create_event(&event, 0))
      return {failure(session_.api, "cuEventCreate", s)};
    events_.emplace_back(event, session_.api.destroy_event);
  }
  return {};
}

bool Steps::begins_with_constants(const Work& work, size_t step) const {
  const std::vector<Piece>& pieces = work.steps[step];
  if (pieces.empty() || pieces[0].launch < 0) return false;
  const Launch& first = work.launches[static_cast<size_t>(pieces[0].launch)];
  return !kernels_.constants[static_cast<size_t>(first.kernel)].empty();
}

Status Steps::fill_constants(const Launch& launch) {
  for (const Constant& c : kernels_.constants[static_cast<size_t>(launch.kernel)])
    if (const Status s =
            session_.api.copy(c.address, buffers_.address_of(launch.arguments[c.argument]), c.bytes,
                              session_.stream.get()))
      return s;
  return kSuccess;
}

Status Steps::enqueue(const Launch& launch) {
  const auto k = static_cast<size_t>(launch.kernel);
  const ir::Kernel& kernel = kernels_.definitions[k];
  std::vector<unsigned long long> addresses;
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    if (std::ranges::none_of(kernels_.constants[k],
                             [&](const Constant& c) { return c.argument == i; }))
      addresses.push_back(buffers_.argument_of(launch.arguments[i]));
  std::vector<void*> arguments;
  for (unsigned long long& a : addresses) arguments.push_back(&a);
  const auto group_bytes = static_cast<unsigned>(codegen::scratch_bytes(kernel));
  const auto threads = static_cast<unsigned>(kernels_.threads * kernel.waves);
  for (const GroupRange& r : ranges_of(launch, kernel.groups))
    for (int64_t begin = r.begin; begin < r.end; begin += kMostGroups) {
      long long first = begin;
      std::vector<void*> all = arguments;
      all.push_back(&first);
      const auto groups = static_cast<unsigned>(std::min(kMostGroups, r.end - begin));
      if (const Status s =
              session_.api.launch(kernels_.functions[k], groups, 1, 1, threads, 1, 1, group_bytes,
                                  session_.stream.get(), all.data(), nullptr))
        return s;
    }
  return kSuccess;
}

Status Steps::enqueue(const Work& work, size_t step, const char*& call) {
  const std::vector<Piece>& pieces = work.steps[step];
  for (size_t p = 0; p < pieces.size(); ++p) {
    call = "cuLaunchKernel";
    if (pieces[p].launch < 0) {
      if (const Status s = merged_.launch(pieces[p].call, work.table.get())) return s;
      continue;
    }
    const Launch& launch = work.launches[static_cast<size_t>(pieces[p].launch)];
    call = "cuMemcpyDtoDAsync";
    if (const Status s = fill_constants(launch)) return s;
    call = "cuEventRecord";
    if (p == 0 && begins_with_constants(work, step))
      if (const Status s =
              session_.api.record_event(events_[2 * step + 1].get(), session_.stream.get()))
        return s;
    call = "cuLaunchKernel";
    if (const Status s = enqueue(launch)) return s;
  }
  return kSuccess;
}

Diag Steps::failure_at(const Work& work, size_t step, const char* call, Status status) const {
  Diag d = failure(session_.api, call, status);
  d.message =
      fmt::format("{}: {}: {}", session_.id,
                  name_of_step(work.launches, kernels_.definitions, work.options, step), d.message);
  return d;
}

Diags Steps::run_once(const Work& work, RunTimes* times) {
  const Api& api = session_.api;
  const Stream stream = session_.stream.get();
  if (const Status s = api.record_event(events_[0].get(), stream))
    return {failure_at(work, 0, "cuEventRecord", s)};
  for (size_t i = 0; i < work.steps.size(); ++i) {
    const char* call = "";
    Status status = enqueue(work, i, call);
    if (status == kSuccess) {
      call = "cuEventRecord";
      status = api.record_event(events_[2 * i + 2].get(), stream);
    }
    if (status == kSuccess) continue;
    api.synchronize(stream);
    return {failure_at(work, i, call, status)};
  }
  // Errors of kernels are reported here; the driver does not say which kernel failed.
  if (const Status s = api.synchronize(stream)) {
    const auto name = [&](const Launch& l) {
      return kernels_.definitions[static_cast<size_t>(l.kernel)].name;
    };
    Diag d = failure(api, "a kernel", s);
    d.message =
        fmt::format("{}: one of {} launches ('{}' to '{}'): {}", session_.id, work.launches.size(),
                    name(work.launches.front()), name(work.launches.back()), d.message);
    return {d};
  }
  return times == nullptr ? Diags{} : read_times(work, *times);
}

// Steps begin with the first launch's submission, so they include launch overhead. `busy` begins
// when the constants of a step's first launch have been filled.
Diags Steps::read_times(const Work& work, RunTimes& times) const {
  std::vector<double> steps, busy;
  double total = 0;
  Diags faults;
  const auto between = [&](size_t from, size_t to) {
    float milliseconds = 0;
    if (const Status s =
            session_.api.elapsed(&milliseconds, events_[from].get(), events_[to].get()))
      faults.push_back(failure(session_.api, "cuEventElapsedTime", s));
    else if (!(milliseconds >= 0))
      faults.push_back(error(fmt::format("{}: its clock runs backwards", session_.id)));
    return static_cast<double>(milliseconds) * 1e-3;
  };
  for (size_t i = 0; i < work.steps.size(); ++i) {
    steps.push_back(between(2 * i, 2 * i + 2));
    busy.push_back(begins_with_constants(work, i) ? between(2 * i + 1, 2 * i + 2) : steps.back());
    if (has_error(faults)) return faults;
    total += steps.back();
  }
  times.busy.push_back(std::move(busy));
  times.steps.push_back(std::move(steps));
  times.total.push_back(total);
  return {};
}

// A capturing stream does not execute launches, but records them in a graph.
Status Steps::capture(const Work& work, Graph& graph, const char*& call, size_t& step) {
  const Api& api = session_.api;
  const Stream stream = session_.stream.get();
  call = "cuStreamBeginCapture";
  if (const Status s = api.begin_capture(stream, kThisThread)) return s;
  Status status = kSuccess;
  for (size_t i = 0; i < work.steps.size() && status == kSuccess; ++i) {
    step = i;
    status = enqueue(work, i, call);
  }
  const Status ended = api.end_capture(stream, &graph);  // in any case
  if (status == kSuccess && ended != kSuccess) call = "cuStreamEndCapture";
  return status == kSuccess ? ended : status;
}

Result<RunTimes> Steps::run_recorded(const Work& work) {
  const Api& api = session_.api;
  const Stream stream = session_.stream.get();
  if (api.begin_capture == nullptr || api.end_capture == nullptr || api.make_run == nullptr ||
      api.launch_graph == nullptr || api.destroy_graph == nullptr || api.destroy_run == nullptr)
    return error("its driver can not record launches: it has no graphs", "a newer driver has them");
  Graph graph = nullptr;
  const char* call = "";
  size_t step = 0;
  const Status captured = capture(work, graph, call, step);
  const Owned<Graph> owned_graph(graph, api.destroy_graph);
  if (captured != kSuccess) return failure_at(work, step, call, captured);
  GraphRun run = nullptr;
  if (const Status s = api.make_run(&run, graph, 0)) return failure(api, "cuGraphInstantiate", s);
  const Owned<GraphRun> owned_run(run, api.destroy_run);
  return time_recorded(work.options, [&]() -> Diags {
    if (const Status s = api.launch_graph(run, stream)) return {failure(api, "cuGraphLaunch", s)};
    if (const Status s = api.synchronize(stream)) return {failure(api, "a graph of kernels", s)};
    return {};
  });
}

Diags Steps::prepare(std::span<const Launch> launches, const RunOptions& options) {
  const auto work = work_of(launches, options);
  return work ? Diags{} : work.diags();
}

Result<RunTimes> Steps::run(std::span<const Launch> launches, const RunOptions& options) {
  if (launches.empty()) return RunTimes{};
  auto work = work_of(launches, options);
  if (!work) return work.diags();
  if (Diags faults = upload(*work); has_error(faults)) return faults;
  if (Diags faults = make_events(2 * work->steps.size() + 1); has_error(faults)) return faults;
  if (options.recorded) return run_recorded(*work);
  return time_repeats(options, [&](RunTimes* times) { return run_once(*work, times); });
}

}  // namespace assay::runtime::cuda
