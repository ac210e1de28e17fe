#include "runtime/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/render.h"
#include "runtime/launch.h"

namespace assay::runtime::cuda {
namespace {

constexpr int64_t kMostGroups = 0x7fffffff;  // of one launch

}  // namespace

Diags check_constants(const Session& session, std::span<const ir::Kernel> kernels) {
  Diags diags;
  for (const ir::Kernel& k : kernels) {
    int64_t bytes = 0;
    for (const ir::Buffer& b : k.buffers)
      if (b.space == ir::Space::constant) bytes += b.elements * ir::bytes_of(b.dtype);
    if (bytes > session.limits.constant_bytes)
      diags.push_back(error(fmt::format("{}: kernel '{}' has {} bytes of constants, of {} at most",
                                        session.id, k.name, bytes, session.limits.constant_bytes)));
  }
  return diags;
}

CudaModule::CudaModule(std::shared_ptr<Session> session, std::span<const ir::Kernel> kernels,
                       ModuleOptions options)
    : session_(std::move(session)),
      definitions_(kernels.begin(), kernels.end()),
      buffers_(*session_, options.guarded),
      threads_(options.threads),
      scheduled_(*session_, buffers_, definitions_, reports_, threads_,
                 std::move(options.build_schedule)) {}

Result<std::unique_ptr<Module>> CudaModule::make(std::shared_ptr<Session> session,
                                                 std::span<const ir::Kernel> kernels,
                                                 const Build& build, ModuleOptions options,
                                                 Diags warnings) {
  Diags diags;
  for (const ir::Kernel& k : kernels)
    if (const int64_t needed = codegen::scratch_bytes(k); needed > session->limits.group_bytes)
      diags.push_back(error(fmt::format("kernel '{}' needs {} bytes of group memory, {} has {}",
                                        k.name, needed, session->id, session->limits.group_bytes)));
  if (has_error(diags)) return diags;
  auto m = std::make_unique<CudaModule>(std::move(session), kernels, std::move(options));
  m->build_seconds_ = build.seconds;
  m->warnings_ = std::move(warnings);
  diags = m->load(build);
  if (has_error(diags)) return diags;
  return std::unique_ptr<Module>(std::move(m));
}

Diags CudaModule::load(const Build& build) {
  if (const Status s = session_->enter()) return {failure(session_->api, "cuCtxSetCurrent", s)};
  Diags diags;
  std::map<std::filesystem::path, Code> loaded;
  for (size_t i = 0; i < definitions_.size(); ++i) {
    const Diags faults = load(i, build.kernels[i], loaded);
    diags.insert(diags.end(), faults.begin(), faults.end());
  }
  return diags;
}

Diags CudaModule::load(size_t kernel, const BuiltKernel& built,
                       std::map<std::filesystem::path, Code>& loaded) {
  const Api& api = session_->api;
  const ir::Kernel& k = definitions_[kernel];
  const auto fail = [&](const char* call, Status status) {
    Diag d = failure(api, call, status);
    d.message = fmt::format("kernel '{}': {}", k.name, d.message);
    return Diags{std::move(d)};
  };
  Code& code = loaded[built.cubin];
  if (code == nullptr) {
    const auto bytes = read_file(built.cubin);
    if (!bytes)
      return {
          error(fmt::format("kernel '{}': '{}' can not be read", k.name, built.cubin.string()))};
    if (const Status s = api.load_code(&code, bytes->data())) return fail("cuModuleLoadData", s);
    code_.emplace_back(code, api.unload_code);
  }
  Function function = nullptr;
  if (const Status s = api.get_function(&function, code, built.entry.c_str()))
    return fail("cuModuleGetFunction", s);
  KernelReport report{k.name};
  int local = 0;
  if (api.function_attribute(&local, kLocalBytes, function) == kSuccess) report.stack_bytes = local;
  report.registers = registers_of(api, function);
  const int64_t group_bytes = codegen::scratch_bytes(k);
  const int share = group_memory_share(session_->limits, group_bytes, int64_t{threads_} * k.waves,
                                       report.registers);
  if (const Status s = set_group_memory(api, function, group_bytes, share))
    return fail("cuFuncSetAttribute", s);
  reports_.push_back(std::move(report));
  functions_.push_back(function);
  return find_constants(kernel, code, built.entry);
}

// Constants are variables of the module, named by kernel and position.
Diags CudaModule::find_constants(size_t kernel, Code code, const std::string& entry) {
  const ir::Kernel& k = definitions_[kernel];
  std::vector<Constant>& found = constants_.emplace_back();
  size_t argument = 0;
  for (const ir::Buffer& b : k.buffers) {
    if (b.scope == ir::Scope::scratch) continue;
    const size_t position = argument++;
    if (b.space != ir::Space::constant) continue;
    Constant c{position, 0, 0};
    const std::string name = fmt::format("{}_constant_{}", entry, position);
    if (const Status s = session_->api.get_global(&c.address, &c.bytes, code, name.c_str()))
      return {failure(session_->api, "cuModuleGetGlobal", s)};
    const auto needed = static_cast<size_t>(b.elements * ir::bytes_of(b.dtype));
    ASSAY_CHECK(needed <= c.bytes);
    c.bytes = needed;
    found.push_back(c);
  }
  return {};
}

Status CudaModule::fill_constants(const Launch& launch, Event filled) {
  for (const Constant& c : constants_[static_cast<size_t>(launch.kernel)])
    if (const Status s =
            session_->api.copy(c.address, buffers_.address_of(launch.arguments[c.argument]),
                               c.bytes, session_->stream.get()))
      return s;
  return session_->api.record_event(filled, session_->stream.get());
}

Diags CudaModule::make_events(size_t count) {
  while (events_.size() < count) {
    Event event = nullptr;
    if (const Status s = session_->api.create_event(&event, 0))
      return {failure(session_->api, "cuEventCreate", s)};
    events_.emplace_back(event, session_->api.destroy_event);
  }
  return {};
}

Status CudaModule::enqueue(const Launch& launch) {
  const auto k = static_cast<size_t>(launch.kernel);
  std::vector<unsigned long long> addresses;
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    if (std::none_of(constants_[k].begin(), constants_[k].end(),
                     [&](const Constant& c) { return c.argument == i; }))
      addresses.push_back(buffers_.argument_of(launch.arguments[i]));
  std::vector<void*> arguments;
  for (unsigned long long& a : addresses) arguments.push_back(&a);
  const auto group_bytes = static_cast<unsigned>(codegen::scratch_bytes(definitions_[k]));
  const auto threads = static_cast<unsigned>(threads_ * definitions_[k].waves);
  for (const GroupRange& r : ranges_of(launch, definitions_[k].groups))
    for (int64_t begin = r.begin; begin < r.end; begin += kMostGroups) {
      long long first = begin;
      std::vector<void*> all = arguments;
      all.push_back(&first);
      const auto groups = static_cast<unsigned>(std::min(kMostGroups, r.end - begin));
      if (const Status s =
              session_->api.launch(functions_[k], groups, 1, 1, threads, 1, 1, group_bytes,
                                   session_->stream.get(), all.data(), nullptr))
        return s;
    }
  return kSuccess;
}

Diag CudaModule::failure_at(std::span<const Launch> launches, size_t at, const char* call,
                            Status status) const {
  Diag d = failure(session_->api, call, status);
  d.message = fmt::format("{}: launch {} ('{}'): {}", session_->id, at,
                          definitions_[static_cast<size_t>(launches[at].kernel)].name, d.message);
  return d;
}

Diags CudaModule::run_once(std::span<const Launch> launches, RunTimes* times) {
  const Api& api = session_->api;
  const Stream stream = session_->stream.get();
  if (const Status s = api.record_event(events_[0].get(), stream))
    return {failure_at(launches, 0, "cuEventRecord", s)};
  for (size_t i = 0; i < launches.size(); ++i) {
    const char* call = "cuMemcpyDtoDAsync";
    Status status = has_constants(launches[i])
                        ? fill_constants(launches[i], events_[2 * i + 1].get())
                        : kSuccess;
    if (status == kSuccess) {
      call = "cuLaunchKernel";
      status = enqueue(launches[i]);
    }
    if (status == kSuccess) {
      call = "cuEventRecord";
      status = api.record_event(events_[2 * i + 2].get(), stream);
    }
    if (status == kSuccess) continue;
    api.synchronize(stream);
    return {failure_at(launches, i, call, status)};
  }
  // Errors of kernels are reported here; the driver does not say which kernel failed.
  if (const Status s = api.synchronize(stream)) {
    Diag d = failure(api, "a kernel", s);
    d.message =
        fmt::format("{}: one of {} launches ('{}' to '{}'): {}", session_->id, launches.size(),
                    definitions_[static_cast<size_t>(launches.front().kernel)].name,
                    definitions_[static_cast<size_t>(launches.back().kernel)].name, d.message);
    return {d};
  }
  return times == nullptr ? Diags{} : read_times(launches, *times);
}

// Steps begin with the first launch's submission, so they include launch overhead. `busy` begins
// when a launch's constants have been filled.
Diags CudaModule::read_times(std::span<const Launch> launches, RunTimes& times) const {
  std::vector<double> steps, busy;
  double total = 0;
  Diags faults;
  const auto between = [&](size_t from, size_t to) {
    float milliseconds = 0;
    if (const Status s =
            session_->api.elapsed(&milliseconds, events_[from].get(), events_[to].get()))
      faults.push_back(failure(session_->api, "cuEventElapsedTime", s));
    else if (!(milliseconds >= 0))
      faults.push_back(error(fmt::format("{}: its clock runs backwards", session_->id)));
    return static_cast<double>(milliseconds) * 1e-3;
  };
  for (size_t i = 0; i < launches.size(); ++i) {
    steps.push_back(between(2 * i, 2 * i + 2));
    busy.push_back(has_constants(launches[i]) ? between(2 * i + 1, 2 * i + 2) : steps.back());
    if (has_error(faults)) return faults;
    total += steps.back();
  }
  times.busy.push_back(std::move(busy));
  times.steps.push_back(std::move(steps));
  times.total.push_back(total);
  return {};
}

// A capturing stream does not execute launches, but records them in a graph.
Status CudaModule::capture(std::span<const Launch> launches, Graph& graph, const char*& call) {
  const Api& api = session_->api;
  const Stream stream = session_->stream.get();
  call = "cuStreamBeginCapture";
  if (const Status s = api.begin_capture(stream, kThisThread)) return s;
  Status status = kSuccess;
  for (size_t i = 0; i < launches.size() && status == kSuccess; ++i) {
    call = "cuMemcpyDtoDAsync";
    if (has_constants(launches[i])) status = fill_constants(launches[i], events_[2 * i + 1].get());
    if (status != kSuccess) break;
    call = "cuLaunchKernel";
    status = enqueue(launches[i]);
  }
  const Status ended = api.end_capture(stream, &graph);  // in any case
  if (status == kSuccess && ended != kSuccess) call = "cuStreamEndCapture";
  return status == kSuccess ? ended : status;
}

Result<RunTimes> CudaModule::run_recorded(std::span<const Launch> launches,
                                          const RunOptions& options) {
  const Api& api = session_->api;
  const Stream stream = session_->stream.get();
  if (api.begin_capture == nullptr || api.end_capture == nullptr || api.make_run == nullptr ||
      api.launch_graph == nullptr || api.destroy_graph == nullptr || api.destroy_run == nullptr)
    return error("its driver can not record launches: it has no graphs", "a newer driver has them");
  Graph graph = nullptr;
  const char* call = "";
  const Status captured = capture(launches, graph, call);
  const Owned<Graph> owned_graph(graph, api.destroy_graph);
  if (captured != kSuccess) return failure_at(launches, 0, call, captured);
  GraphRun run = nullptr;
  if (const Status s = api.make_run(&run, graph, 0)) return failure(api, "cuGraphInstantiate", s);
  const Owned<GraphRun> owned_run(run, api.destroy_run);
  return time_recorded(options, [&]() -> Diags {
    if (const Status s = api.launch_graph(run, stream)) return {failure(api, "cuGraphLaunch", s)};
    if (const Status s = api.synchronize(stream)) return {failure(api, "a graph of kernels", s)};
    return {};
  });
}

Diags CudaModule::check(std::span<const Launch> launches) const {
  Diags faults = check_launches(launches, definitions_, buffers_.size(),
                                [&](int b) { return buffers_.bytes_of(b); });
  if (has_error(faults)) return faults;
  return check_images(launches, definitions_, [&](int b) {
    return buffers_.image_of(b) == nullptr ? nullptr : &buffers_.image_of(b)->shape;
  });
}

Result<Refusal> CudaModule::prepare(std::span<const Launch> launches, const RunOptions& options) {
  if (Diags faults = check(launches); has_error(faults)) return faults;
  if (const Status s = session_->enter()) return failure(session_->api, "cuCtxSetCurrent", s);
  return scheduled_.prepare(launches, options.resident);
}

Result<RunTimes> CudaModule::run_in_turn(std::span<const Launch> launches,
                                         const RunOptions& options) {
  if (Diags faults = make_events(2 * launches.size() + 1); has_error(faults)) return faults;
  if (options.recorded && !launches.empty()) return run_recorded(launches, options);
  RunTimes times;
  for (int i = 0; i < options.warm_up + options.repeat && !launches.empty(); ++i) {
    if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
    if (Diags faults = run_once(launches, i < options.warm_up ? nullptr : &times);
        has_error(faults))
      return faults;
  }
  return times;
}

Result<RunTimes> CudaModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  if (options.recorded && !options.schedule.empty())
    return error("a schedule is one launch, so there is nothing to record");
  Diags faults = buffers_.take_lost();
  if (has_error(faults)) return faults;
  faults = check(launches);
  if (has_error(faults)) return faults;
  if (const Status s = session_->enter()) return failure(session_->api, "cuCtxSetCurrent", s);
  auto times =
      options.schedule.empty() ? run_in_turn(launches, options) : scheduled_.run(launches, options);
  if (!times) return times;
  faults = buffers_.check_guards();
  if (has_error(faults)) return faults;
  return times;
}

}  // namespace assay::runtime::cuda
