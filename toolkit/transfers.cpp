#include "toolkit/transfers.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "toolkit/packing.h"

namespace assay::toolkit {
namespace {

using Way = ir::Transfer::Way;

bool is_row_major(const ir::PlanTensor& t) {
  return t.layout == ir::row_major(static_cast<int>(t.shape.size()));
}

// Calls copy(offset in the host tensor, offset in the region, bytes) for every run of bytes that
// are neighbours in both, which are stored row-major.
template <class Copy>
void each_run(const std::vector<int64_t>& host, const std::vector<int64_t>& begin,
              const std::vector<int64_t>& region, int64_t width, const Copy& copy) {
  size_t inner = region.size();  // dimensions from here on are one run
  int64_t run = width, first = 0, stride = width;
  while (inner > 0) {
    --inner;
    run *= region[inner];
    if (region[inner] != host[inner]) break;
  }
  std::vector<int64_t> strides(host.size());
  for (size_t d = host.size(); d-- > 0; stride *= host[d]) {
    strides[d] = stride;
    first += begin[d] * stride;
  }
  int64_t runs = 1;
  for (size_t d = 0; d < inner; ++d) runs *= region[d];
  std::vector<int64_t> at(inner, 0);
  for (int64_t r = 0; r < runs; ++r) {
    int64_t offset = first;
    for (size_t d = 0; d < inner; ++d) offset += at[d] * strides[d];
    copy(offset, r * run, run);
    for (size_t d = inner; d-- > 0;) {
      if (++at[d] < region[d]) break;
      at[d] = 0;
    }
  }
}

// A copy of both tensors' elements in the same order; else one of them is packed.
struct Ends {
  const Placement& p;
  const ir::PlanTensor &device, &host;
  const ir::Transfer& t;

  runtime::BufferRange range(int64_t offset = 0) const { return {p.arena, device.offset + offset}; }
  int width() const { return ir::bytes_of(device.dtype); }
  int64_t stored_bytes() const {
    return ir::physical_elements(device.layout, device.shape) * width();
  }
  template <class Copy>
  void runs(const Copy& copy) const {
    each_run(host.shape, t.begin, device.shape, width(), copy);
  }
  size_t region_bytes() const {
    auto out = static_cast<size_t>(width());
    for (const int64_t extent : device.shape) out *= static_cast<size_t>(extent);
    return out;
  }
};

// Where units are the host's threads a run is copied at once; a link to a device wants few copies.
bool is_host(const Placement& p) { return p.device->info().fact("threads") == "own"; }

void upload(const Ends& e) {
  std::byte* from = host_bytes(e.p, e.host);
  if (!is_row_major(e.host))
    return e.p.module->write(e.range(), {from, static_cast<size_t>(e.stored_bytes())});
  if (is_row_major(e.device) && is_host(e.p))
    return e.runs([&](int64_t host, int64_t region, int64_t bytes) {
      e.p.module->write(e.range(region), {from + host, static_cast<size_t>(bytes)});
    });
  std::vector<std::byte> region(e.region_bytes());
  e.runs([&](int64_t host, int64_t at, int64_t bytes) {
    std::memcpy(region.data() + at, from + host, static_cast<size_t>(bytes));
  });
  e.p.module->write(e.range(), is_row_major(e.device)
                                   ? region
                                   : pack(region, e.device.dtype, e.device.shape, e.device.layout));
}

void download(const Ends& e) {
  std::byte* to = host_bytes(e.p, e.host);
  if (is_row_major(e.device) && is_host(e.p))
    return e.runs([&](int64_t host, int64_t region, int64_t bytes) {
      e.p.module->read(e.range(region), {to + host, static_cast<size_t>(bytes)});
    });
  std::vector<std::byte> region(static_cast<size_t>(e.stored_bytes()));
  e.p.module->read(e.range(), region);
  if (!is_row_major(e.device)) region = unpack(region, e.width(), e.device.shape, e.device.layout);
  e.runs([&](int64_t host, int64_t at, int64_t bytes) {
    std::memcpy(to + host, region.data() + at, static_cast<size_t>(bytes));
  });
}

// One run of all steps and transfers.
struct Once {
  runtime::RunTimes times;
  std::array<double, 2> transfers{};
};

Result<Once> run_once(const Placement& p, const ir::Plan& plan,
                      const runtime::CancelToken* cancel) {
  Once out;
  double total = 0;
  std::vector<double> steps, busy;
  const auto move = [&](const ir::Transfer& t) {
    const auto start = std::chrono::steady_clock::now();
    transfer(p, plan, t);
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!p.device->info().simulated) out.transfers[t.way == Way::download ? 1 : 0] += took;
  };
  const auto launch = [&](size_t first, size_t last) -> Diags {
    if (first == last) return {};
    auto ran = p.module->run(std::span(p.launches).subspan(first, last - first), {1, 0, cancel});
    if (!ran) return ran.diags();
    steps.insert(steps.end(), ran->steps[0].begin(), ran->steps[0].end());
    busy.insert(busy.end(), ran->busy[0].begin(), ran->busy[0].end());
    total += ran->total[0];
    out.times.executed += ran->executed;
    return {};
  };
  size_t done = 0;
  for (const ir::Transfer& t : plan.transfers) {
    const auto before = static_cast<size_t>(t.step);
    if (Diags failed = launch(done, before); !failed.empty()) return failed;
    done = before;
    move(t);
  }
  if (Diags failed = launch(done, p.launches.size()); !failed.empty()) return failed;
  out.times.steps.push_back(std::move(steps));
  out.times.busy.push_back(std::move(busy));
  out.times.total.push_back(total + out.transfers[0] + out.transfers[1]);
  return out;
}

}  // namespace

std::vector<TransferSum> transfer_sums(const ir::Plan& plan,
                                       std::span<const model::Estimate> estimates) {
  if (plan.transfers.empty()) return {};
  std::vector<TransferSum> out(2);
  out[1].download = true;
  for (size_t i = 0; i < plan.transfers.size(); ++i) {
    TransferSum& s = out[plan.transfers[i].way == Way::download ? 1 : 0];
    ++s.count;
    s.bytes += ir::bytes_of(plan, plan.transfers[i]);
    s.estimate.seconds += estimates[i].seconds;
    s.estimate.low += estimates[i].low;
    s.estimate.high += estimates[i].high;
    s.estimate.bound = estimates[i].bound;
  }
  return out;
}

void transfer(const Placement& p, const ir::Plan& plan, const ir::Transfer& t) {
  const ir::PlanTensor& device = plan.tensors[static_cast<size_t>(t.device)];
  if (t.way == Way::clear)
    return p.module->write({p.arena, device.offset},
                           padding(device.dtype, device.shape, device.layout));
  const Ends ends{p, device, plan.tensors[static_cast<size_t>(t.host)], t};
  t.way == Way::upload ? upload(ends) : download(ends);
}

Result<PlanTimes> run_plan(const Placement& p, const ir::Plan& plan,
                           const runtime::RunOptions& options) {
  if (plan.transfers.empty()) {
    runtime::RunOptions scheduled = options;
    if (options.schedule.empty()) scheduled.schedule = p.schedule, scheduled.phases = p.phases;
    scheduled.resident = resident_of(plan);
    auto times = p.module->run(p.launches, scheduled);
    if (!times) return times.diags();
    if (!scheduled.schedule.empty() && !options.traced) {  // what each step takes, in further runs
      scheduled.traced = true;
      auto traced = p.module->run(p.launches, scheduled);
      if (!traced) return traced.diags();
      times->steps = std::move(traced->steps);
      times->busy = std::move(traced->busy);
      times->slices = std::move(traced->slices);
    }
    return PlanTimes{std::move(*times), {}};
  }
  PlanTimes out;
  for (int r = -options.warm_up; r < options.repeat; ++r) {
    Result<Once> once = run_once(p, plan, options.cancel);
    if (!once) return once.diags();
    if (r < 0) continue;
    out.times.steps.push_back(std::move(once->times.steps[0]));
    out.times.busy.push_back(std::move(once->times.busy[0]));
    out.times.total.push_back(once->times.total[0]);
    out.times.executed += once->times.executed;
    out.transfers.push_back(once->transfers);
  }
  return out;
}

}  // namespace assay::toolkit
