#include "runtime/opencl/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codegen/render.h"

namespace assay::runtime::opencl {
namespace {

constexpr int64_t kPieces = 4;  // of a queue

std::vector<const ir::Buffer*> arguments_of(const ir::Kernel& k) {
  std::vector<const ir::Buffer*> out;
  for (const ir::Buffer& b : k.buffers)
    if (b.scope == ir::Scope::global) out.push_back(&b);
  return out;
}

}  // namespace

Result<std::unique_ptr<Module>> OpenclModule::make(std::shared_ptr<Session> session,
                                                   std::span<const ir::Kernel> kernels, Build build,
                                                   bool guarded, Diags warnings) {
  Diags diags;
  for (const ir::Kernel& k : kernels)
    if (const auto needed = static_cast<size_t>(codegen::scratch_bytes(k));
        needed > session->limits.group_bytes)
      diags.push_back(error(fmt::format("kernel '{}' needs {} bytes of group memory, {} has {}", k.name,
                                        needed, session->id, session->limits.group_bytes)));
  if (has_error(diags)) return diags;
  auto m = std::make_unique<OpenclModule>();
  m->session_ = std::move(session);
  m->definitions_.assign(kernels.begin(), kernels.end());
  m->build_ = std::move(build);
  m->guarded_ = guarded;
  m->warnings_ = std::move(warnings);
  auto claims = m->make_buffer(int64_t{64} * m->session_->units, 0);
  if (!claims) return claims.diags();
  m->claims_ = std::move(claims).value();
  auto queues = m->make_buffer(4096, 0);
  if (!queues) return queues.diags();
  m->queues_ = std::move(queues).value();
  for (size_t i = 0; i < kernels.size(); ++i) {
    cl_ulong bytes = 0;
    const bool known = m->session_->api.clGetKernelWorkGroupInfo(
                           m->build_.kernels[i].get(), m->session_->place.device,
                           CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes, &bytes, nullptr) == CL_SUCCESS;
    m->reports_.push_back({kernels[i].name, 0, known && bytes > 0 ? static_cast<int64_t>(bytes) : -1});
  }
  return std::unique_ptr<Module>(std::move(m));
}

Result<OpenclModule::Buffer> OpenclModule::make_buffer(int64_t bytes, int64_t guard) const {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1) + 2 * guard);
  const auto out_of_memory = [&](const std::string& why) {
    return error(fmt::format("out of memory: {} bytes for one buffer of {}: {}", bytes, session_->id, why),
                 "a smaller model or batch, or a device with more memory");
  };
  if (size > session_->limits.buffer_bytes)
    return out_of_memory(fmt::format("it allows {}", session_->limits.buffer_bytes));
  Buffer b;
  b.bytes = bytes;
  const auto fill = [&](std::span<std::byte> all) {
    std::fill(all.begin(), all.end(), std::byte{0});
    std::fill_n(all.begin(), guard, std::byte{0xFF});
    std::fill_n(all.end() - guard, guard, std::byte{0xFF});
  };
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  std::vector<std::byte> initial;
  if (session_->limits.shares_memory) {
    auto pages = Memory::allocate(static_cast<int64_t>(size), false);
    if (!pages) return pages.diags();
    b.pages = std::move(pages).value();
    fill(b.pages.bytes());
    flags |= CL_MEM_USE_HOST_PTR;
  } else {
    initial.resize(size);
    fill(initial);
    flags |= CL_MEM_COPY_HOST_PTR;
  }
  cl_int status = CL_SUCCESS;
  void* start = initial.empty() ? b.pages.bytes().data() : initial.data();
  b.memory = {session_->api.clCreateBuffer(session_->context.get(), flags, size, start, &status),
              session_->api.clReleaseMemObject};
  if (status != CL_SUCCESS) return out_of_memory(name_of(status));
  return b;
}

Result<int> OpenclModule::allocate(int64_t bytes) {
  ASSAY_CHECK(bytes >= 0);
  auto buffer = make_buffer(bytes, guard());
  if (!buffer) return buffer.diags();
  buffers_.push_back(std::move(buffer).value());
  return static_cast<int>(buffers_.size()) - 1;
}

void OpenclModule::write(BufferRange to, std::span<const std::byte> data) {
  if (data.empty()) return;
  const Buffer& b = buffers_.at(static_cast<size_t>(to.buffer));
  ASSAY_CHECK(to.offset >= 0 && to.offset + static_cast<int64_t>(data.size()) <= b.bytes);
  const cl_int status = session_->api.clEnqueueWriteBuffer(
      session_->queue.get(), b.memory.get(), CL_TRUE, static_cast<size_t>(to.offset + guard()),
      data.size(), data.data(), 0, nullptr, nullptr);
  if (status != CL_SUCCESS) lost_.push_back(failure("clEnqueueWriteBuffer", status));
}

void OpenclModule::write_words(int buffer, std::span<const Word> words) {
  const Buffer& b = buffers_.at(static_cast<size_t>(buffer));
  const Api& api = session_->api;
  cl_int status = CL_SUCCESS;
  auto* bytes = static_cast<std::byte*>(api.clEnqueueMapBuffer(
      session_->queue.get(), b.memory.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
      static_cast<size_t>(guard()), static_cast<size_t>(b.bytes), 0, nullptr, nullptr, &status));
  if (status != CL_SUCCESS) return lost_.push_back(failure("clEnqueueMapBuffer", status));
  for (const Word& w : words) {
    ASSAY_CHECK(w.offset >= 0 && w.offset + static_cast<int64_t>(sizeof w.value) <= b.bytes);
    std::memcpy(bytes + w.offset, &w.value, sizeof w.value);
  }
  status = api.clEnqueueUnmapMemObject(session_->queue.get(), b.memory.get(), bytes, 0, nullptr, nullptr);
  if (status == CL_SUCCESS) status = api.clFinish(session_->queue.get());
  if (status != CL_SUCCESS) lost_.push_back(failure("clEnqueueUnmapMemObject", status));
}

void OpenclModule::read(BufferRange from, std::span<std::byte> data) const {
  if (data.empty()) return;
  const Buffer& b = buffers_.at(static_cast<size_t>(from.buffer));
  ASSAY_CHECK(from.offset >= 0 && from.offset + static_cast<int64_t>(data.size()) <= b.bytes);
  const cl_int status = session_->api.clEnqueueReadBuffer(
      session_->queue.get(), b.memory.get(), CL_TRUE, static_cast<size_t>(from.offset + guard()),
      data.size(), data.data(), 0, nullptr, nullptr);
  if (status == CL_SUCCESS) return;
  std::fill(data.begin(), data.end(), std::byte{0xFF});  // NaN: never a value that looks right
  lost_.push_back(failure("clEnqueueReadBuffer", status));
}

Diags OpenclModule::check(std::span<const Launch> launches) const {
  Diags diags;
  const auto fail = [&](size_t launch, const std::string& what) {
    diags.push_back(error(fmt::format("launch {}: {}", launch, what)));
  };
  for (size_t l = 0; l < launches.size(); ++l) {
    const Launch& launch = launches[l];
    if (launch.kernel < 0 || static_cast<size_t>(launch.kernel) >= definitions_.size()) {
      fail(l, fmt::format("there is no kernel {}, there are {}", launch.kernel, definitions_.size()));
      continue;
    }
    const ir::Kernel& k = definitions_[static_cast<size_t>(launch.kernel)];
    const auto wanted = arguments_of(k);
    if (wanted.size() != launch.arguments.size())
      fail(l, fmt::format("kernel '{}' takes {} arguments, not {}", k.name, wanted.size(),
                          launch.arguments.size()));
    for (size_t i = 0; i < std::min(wanted.size(), launch.arguments.size()); ++i) {
      const BufferRange& r = launch.arguments[i];
      const int64_t width = ir::bytes_of(wanted[i]->dtype), needed = wanted[i]->elements * width;
      if (r.buffer < 0 || static_cast<size_t>(r.buffer) >= buffers_.size())
        fail(l, fmt::format("argument '{}' names buffer {}, there are {}", wanted[i]->name, r.buffer,
                            buffers_.size()));
      else if (const int64_t size = buffers_[static_cast<size_t>(r.buffer)].bytes;
               r.offset < 0 || needed > size || r.offset > size - needed || r.offset % width != 0)
        fail(l, fmt::format("argument '{}' needs {} bytes at {}, buffer {} has {}", wanted[i]->name,
                            needed, r.offset, r.buffer, size));
    }
    for (const ir::Queue& q : launch.queues)
      if (q.unit < 0 || q.begin < 0 || q.end > k.groups || q.begin > q.end)
        fail(l, fmt::format("a queue of unit {} holds groups {} to {} of {}", q.unit, q.begin, q.end, k.groups));
  }
  return diags;
}

// A driver may wake its units late: each queue is cut into pieces, so that who is through with its own
// unit's takes over others' piece by piece.
Diags OpenclModule::write_queues(std::span<const Launch> launches) {
  const auto units = static_cast<size_t>(session_->units);
  std::vector<cl_long> all;
  std::vector<QueueRange> ranges;
  for (const Launch& l : launches) {
    std::vector<std::vector<cl_long>> of_unit(units);
    const auto add = [&](int unit, int64_t begin, int64_t end) {
      for (int64_t piece = 0; piece < kPieces; ++piece) {
        const int64_t from = begin + (end - begin) * piece / kPieces, to = begin + (end - begin) * (piece + 1) / kPieces;
        auto& rows = of_unit[static_cast<size_t>(unit) % units];
        if (from < to) rows.insert(rows.end(), {from, to});
      }
    };
    const int64_t groups = definitions_[static_cast<size_t>(l.kernel)].groups;
    for (int u = 0; l.queues.empty() && u < session_->units; ++u)
      add(u, groups * u / session_->units, groups * (u + 1) / session_->units);
    for (const ir::Queue& q : l.queues) add(q.unit, q.begin, q.end);
    size_t most = 0;
    for (const auto& rows : of_unit) most = std::max(most, rows.size());
    ranges.push_back({static_cast<int64_t>(all.size()), static_cast<cl_uint>(most / 2)});
    for (auto& rows : of_unit) {
      rows.resize(most, 0);  // empty ones
      all.insert(all.end(), rows.begin(), rows.end());
    }
  }
  queue_ranges_ = std::move(ranges);
  if (all == written_queues_) return {};
  const size_t bytes = all.size() * sizeof(cl_long);
  if (static_cast<int64_t>(bytes) > queues_.bytes) {
    auto larger = make_buffer(static_cast<int64_t>(2 * bytes), 0);
    if (!larger) return larger.diags();
    queues_ = std::move(larger).value();
  }
  const cl_int status = session_->api.clEnqueueWriteBuffer(
      session_->queue.get(), queues_.memory.get(), CL_TRUE, 0, bytes, all.data(), 0, nullptr, nullptr);
  if (status != CL_SUCCESS) return {failure("clEnqueueWriteBuffer", status)};
  written_queues_ = std::move(all);
  return {};
}

cl_int OpenclModule::set_arguments(const Launch& launch, const QueueRange& queues) {
  const ir::Kernel& k = definitions_[static_cast<size_t>(launch.kernel)];
  const cl_kernel kernel = build_.kernels[static_cast<size_t>(launch.kernel)].get();
  cl_uint position = 0;
  size_t argument = 0;
  for (const ir::Buffer& b : k.buffers) {
    if (b.scope == ir::Scope::scratch) {
      const auto bytes = static_cast<size_t>(std::max<int64_t>(1, b.elements) * ir::bytes_of(b.dtype));
      if (const cl_int s = session_->api.clSetKernelArg(kernel, position++, bytes, nullptr)) return s;
      continue;
    }
    const BufferRange& range = launch.arguments[argument++];
    const cl_mem memory = buffers_[static_cast<size_t>(range.buffer)].memory.get();
    const cl_long first = (range.offset + guard()) / ir::bytes_of(b.dtype);
    if (const cl_int s = session_->api.clSetKernelArg(kernel, position++, sizeof memory, &memory)) return s;
    if (const cl_int s = session_->api.clSetKernelArg(kernel, position++, sizeof first, &first)) return s;
  }
  const cl_mem claims = claims_.memory.get(), rows = queues_.memory.get();
  const cl_long first = queues.first;
  const auto units = static_cast<cl_uint>(session_->units);
  const std::pair<size_t, const void*> rest[] = {{sizeof claims, &claims},
                                                 {sizeof rows, &rows},
                                                 {sizeof first, &first},
                                                 {sizeof claimed_, &claimed_},
                                                 {sizeof queues.count, &queues.count},
                                                 {sizeof units, &units}};
  for (const auto& [size, value] : rest)
    if (const cl_int s = session_->api.clSetKernelArg(kernel, position++, size, value)) return s;
  return CL_SUCCESS;
}

// A boundary is the end of a launch by the device's clock, the first one the moment the first
// launch was handed over, so that steps add up to the total and hold what launching costs.
Diags OpenclModule::read_times(std::span<const Owned<cl_event>> events, RunTimes& times) const {
  std::vector<double> steps, busy;
  cl_ulong before = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    cl_ulong start = 0, end = 0;
    cl_int status = CL_SUCCESS;
    if (i == 0)
      status = session_->api.clGetEventProfilingInfo(events[i].get(), CL_PROFILING_COMMAND_QUEUED,
                                                     sizeof before, &before, nullptr);
    if (status == CL_SUCCESS)
      status = session_->api.clGetEventProfilingInfo(events[i].get(), CL_PROFILING_COMMAND_END,
                                                     sizeof end, &end, nullptr);
    if (status == CL_SUCCESS)
      status = session_->api.clGetEventProfilingInfo(events[i].get(), CL_PROFILING_COMMAND_START,
                                                     sizeof start, &start, nullptr);
    if (status != CL_SUCCESS) return {failure("clGetEventProfilingInfo", status)};
    if (end < before || end < start) return {error(fmt::format("{}: its clock runs backwards", session_->id))};
    steps.push_back(static_cast<double>(end - before) * 1e-9);
    busy.push_back(static_cast<double>(end - start) * 1e-9);
    before = end;
  }
  double total = 0;
  for (const double s : steps) total += s;
  times.steps.push_back(std::move(steps));
  times.busy.push_back(std::move(busy));
  times.total.push_back(total);
  return {};
}

Diags OpenclModule::run_once(std::span<const Launch> launches, RunTimes* times) {
  const Api& api = session_->api;
  std::vector<Owned<cl_event>> events;
  const size_t one = 1, items = slots();
  cl_int status = CL_SUCCESS;
  const char* call = "";
  for (size_t l = 0; l < launches.size() && status == CL_SUCCESS; ++l) {
    call = "clSetKernelArg";
    status = set_arguments(launches[l], queue_ranges_[l]);
    if (status != CL_SUCCESS) break;
    call = "clEnqueueNDRangeKernel";
    cl_event event = nullptr;
    status = api.clEnqueueNDRangeKernel(session_->queue.get(),
                                        build_.kernels[static_cast<size_t>(launches[l].kernel)].get(), 1,
                                        nullptr, &items, &one, 0, nullptr, &event);
    if (status != CL_SUCCESS) break;
    claimed_ += queue_ranges_[l].count + static_cast<cl_uint>(items);  // each ends on one too many
    events.push_back({event, api.clReleaseEvent});
  }
  const cl_int finished = api.clFinish(session_->queue.get());
  if (status == CL_SUCCESS && finished != CL_SUCCESS) {
    call = "clFinish";
    status = finished;
  }
  for (size_t l = 0; l < events.size() && status == CL_SUCCESS; ++l) {
    cl_int state = CL_COMPLETE;
    api.clGetEventInfo(events[l].get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (state >= 0) continue;
    call = "a kernel";
    status = state;
  }
  if (status != CL_SUCCESS) {
    Diag d = failure(call, status);
    const size_t at = std::min(events.size(), launches.size() - 1);
    d.message = fmt::format("{}: launch {} ('{}'): {}", session_->id, at,
                            definitions_[static_cast<size_t>(launches[at].kernel)].name, d.message);
    return {d};
  }
  return times == nullptr ? Diags{} : read_times(events, *times);
}

Diags OpenclModule::check_guards() const {
  Diags damage;
  std::vector<std::byte> zone(static_cast<size_t>(guard()));
  for (size_t i = 0; guarded_ && i < buffers_.size(); ++i)
    for (const int64_t at : {int64_t{0}, guard() + std::max<int64_t>(1, buffers_[i].bytes)}) {
      const cl_int status = session_->api.clEnqueueReadBuffer(
          session_->queue.get(), buffers_[i].memory.get(), CL_TRUE, static_cast<size_t>(at), zone.size(),
          zone.data(), 0, nullptr, nullptr);
      if (status != CL_SUCCESS)
        damage.push_back(failure("clEnqueueReadBuffer", status));
      else if (std::any_of(zone.begin(), zone.end(), [](std::byte b) { return b != std::byte{0xFF}; }))
        damage.push_back(error(fmt::format("a kernel wrote outside buffer {}", i)));
    }
  return damage;
}

Result<RunTimes> OpenclModule::run(std::span<const Launch> launches, const RunOptions& options) {
  if (options.repeat < 0 || options.warm_up < 0)
    return error("repeat and warm_up can not be negative");
  if (!lost_.empty()) return std::exchange(lost_, {});
  const Diags wrong = check(launches);
  if (has_error(wrong)) return wrong;
  const Diags unwritten = write_queues(launches);
  if (has_error(unwritten)) return unwritten;
  RunTimes times;
  for (int i = 0; i < options.warm_up + options.repeat; ++i) {
    if (options.cancel != nullptr && options.cancel->load()) return error("cancelled");
    const Diags failed = launches.empty() ? Diags{}
                                          : run_once(launches, i < options.warm_up ? nullptr : &times);
    if (has_error(failed)) return failed;
  }
  const Diags damage = check_guards();
  if (has_error(damage)) return damage;
  return times;
}

}  // namespace assay::runtime::opencl
