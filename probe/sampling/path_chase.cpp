#include "probe/sampling/path_chase.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "probe/kernels/code.h"
#include "probe/kernels/path.h"
#include "probe/sampling/cycle.h"

namespace assay::probe {
namespace {

constexpr double kTarget = 0.15e-3;  // seconds of a sample

}  // namespace

int64_t number_said(const Session& s, const char* fact) {
  return std::atoll(s.device.fact(fact).c_str());
}

PathChase::PathChase(Session& s, const char* experiment, ir::Space space, int64_t elements)
    : s_(s),
      experiment_(experiment),
      image_(space == ir::Space::image),
      lanes_(s.device.threads ? s.known.lanes : 1),
      data_(static_cast<size_t>(elements)),
      own_(s, {path_chase(space, elements, lanes_)}) {
  if (image_) {
    const auto image =
        own_.module->allocate_image({ir::DType::i32, 1, kImageRow, elements / kImageRow});
    if (!image) fail(image.diags());
    nodes_ = *image;
  } else {
    nodes_ = own_.bench.allocate(elements * 4);
  }
  state_ = own_.bench.allocate(std::max<int64_t>(64, int64_t{lanes_} * 4));
}

// Only as much as holds the nodes: of an image whole rows.
void PathChase::write(const std::vector<int32_t>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    data_[static_cast<size_t>(order[i])] = order[(i + 1) % order.size()];
  const int64_t last = *std::max_element(order.begin(), order.end()),
                used = image_ ? (last / kImageRow + 1) * kImageRow : last + 1;
  own_.module->write({nodes_, 0}, std::as_bytes(std::span(data_).first(static_cast<size_t>(used))));
}

std::vector<int32_t> PathChase::places(const std::vector<int32_t>& order, int64_t hops,
                                       bool divergent) const {
  std::vector<int32_t> out;
  for (int64_t l = 0; l < lanes_; ++l)
    out.push_back(order[static_cast<size_t>((hops + (divergent ? l : 0)) %
                                            static_cast<int64_t>(order.size()))]);
  return out;
}

void PathChase::check(const std::vector<int32_t>& order, int64_t hops, bool divergent) {
  std::vector<int32_t> now(static_cast<size_t>(lanes_));
  own_.module->read({state_, 0}, std::as_writable_bytes(std::span(now)));
  if (now != places(order, hops, divergent))
    fail({error(fmt::format("a chase of the experiment '{}' ended at a wrong node", experiment_))});
}

double PathChase::measure(const char* what, const Conditions& at, const std::vector<int32_t>& order,
                          bool divergent) {
  write(order);
  const std::vector<int32_t> begins = places(order, 0, divergent);
  own_.module->write({state_, 0}, std::as_bytes(std::span(begins)));
  Job job;
  job.kernel = "path_chase";
  job.arguments = {{nodes_, 0}, {state_, 0}};
  job.work = kPathHops;
  job.most = kMaxIterations;
  job.target_s = kTarget;
  const int64_t iterations =
      std::min(own_.bench.most_of(job), static_cast<int64_t>(order.size()) / kPathHops + 1);
  const runtime::Launch pass = own_.bench.launch(job, iterations);
  own_.bench.run({&pass, 1});
  check(order, iterations * kPathHops, divergent);
  add_warm_lap(own_.bench, s_.device, job, static_cast<int64_t>(order.size()));
  const Observation o = own_.bench.measure(experiment_, what, at, job);
  s_.emit(o);
  return *std::min_element(o.samples.begin(), o.samples.end());
}

}  // namespace assay::probe
