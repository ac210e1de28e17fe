#include "runtime/virtual/streams.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::runtime::simulated {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Units of vectors interact in shared memory only, so one may be simulated this many ticks ahead.
constexpr double kAhead = 200, kAheadOfWaves = 0.5;

}  // namespace

int64_t Job::groups() const {
  int64_t all = 0;
  for (const GroupRange& r : ranges) all += r.end - r.begin;
  return all;
}

Streams::Streams(Machine& machine, std::span<const Job> jobs, bool several)
    : machine_(machine),
      chip_(machine.chip),
      jobs_(jobs),
      units_(static_cast<size_t>(machine.chip.units)) {
  for (Unit& u : units_) u.restart(chip_);
  if (several) moved_.assign(jobs.size(), std::vector<Hierarchy::Bytes>(chip_.levels.size() - 1));
}

size_t Streams::add(int unit) {
  streams_.push_back({unit});
  return streams_.size() - 1;
}

void Streams::begin(size_t id, int job, int partition, int64_t group, double at) {
  Stream& s = streams_[id];
  if (s.job != job || s.partition != partition) {
    if (s.executor) executed_ += s.executor->operations();
    const Job& j = jobs_[static_cast<size_t>(job)];
    s.executor = std::make_unique<Executor>(machine_, *j.code, units_[static_cast<size_t>(s.unit)],
                                            s.unit, partition, j.arguments);
    s.job = job;
    s.partition = partition;
  }
  s.executor->start(group, at);
  if (s.live) return;
  s.live = true;
  ++live_;
  if (id != current_) next_.emplace(at, id);
}

Outcome Streams::run() {
  while (live_ > 0 && fault_.empty()) {
    current_ = next_.top().second;
    next_.pop();
    const double until =
        next_.empty() ? kNever : next_.top().first + (chip_.threads ? kAheadOfWaves : kAhead);
    Executor& e = *streams_[current_].executor;
    start_counting(e);
    e.run(until);
    count(streams_[current_]);
    if (!e.fault().empty()) return {0, e.fault(), 0};
    if (e.idle()) {
      const double at = e.finished();
      end_ = std::max(end_, at);
      streams_[current_].live = false;
      --live_;
      ended(current_, at);
    } else if (e.settled_iterations() > 0) {
      skip(current_);
    }
    const Stream& s = streams_[current_];
    if (s.live) next_.emplace(s.executor->time(), current_);
    current_ = kNone;
  }
  if (!fault_.empty()) return {0, fault_, 0};
  for (const Stream& s : streams_)
    if (s.executor) executed_ += s.executor->operations();
  return {end_, "", executed_, std::move(moved_)};
}

void Streams::start_counting(const Executor& e) {
  if (!moved_.empty()) before_ = machine_.hierarchy.moved(e.port());
}

// What the stream moved since then is its job's.
void Streams::count(const Stream& s) {
  if (moved_.empty()) return;
  const std::vector<Hierarchy::Bytes>& now = machine_.hierarchy.moved(s.executor->port());
  std::vector<Hierarchy::Bytes>& sum = moved_[static_cast<size_t>(s.job)];
  for (size_t k = 0; k < now.size(); ++k) {
    sum[k].read += now[k].read - before_[k].read;
    sum[k].written += now[k].written - before_[k].written;
  }
}

double Streams::skip(Stream& s, int64_t iterations) {
  start_counting(*s.executor);
  const double by = s.executor->skip(iterations);
  count(s);
  return by;
}

// Skips iterations of settled loops: of one stream if it shares nothing with others, else of all
// streams while all are settled.
void Streams::skip(size_t id) {
  Stream& s = streams_[id];
  if (live_ == 1 || (!chip_.threads && !s.executor->touched_shared())) {
    const double by = skip(s, s.executor->settled_iterations());
    return machine_.hierarchy.shift(live_ == 1 ? -1 : s.unit, by);
  }
  double span = kNever;
  for (const Stream& other : streams_) {
    if (!other.live) continue;
    const int64_t left = other.executor->settled_iterations();
    if (left < 1) return;
    span = std::min(span, static_cast<double>(left) * other.executor->settled_ticks());
  }
  std::vector<double> shifts(units_.size(), kNever);
  for (Stream& other : streams_) {
    if (!other.live) continue;
    const auto iterations = std::llround(
        span / other.executor->settled_ticks());  // rounded: at most what is left, and floor
                                                  // would lose iterations to rounding errors
    double& by = shifts[static_cast<size_t>(other.unit)];
    by = std::min(by, skip(other, iterations));
  }
  for (size_t u = 0; u < units_.size(); ++u)
    if (chip_.threads && std::isfinite(shifts[u])) units_[u].shift(shifts[u]);
  // Shared state advances by the smallest of the streams' whole iterations.
  machine_.hierarchy.shift(-1, *std::min_element(shifts.begin(), shifts.end()));
  rebuild_queue(id);
}

void Streams::rebuild_queue(size_t running) {
  next_ = {};
  for (size_t i = 0; i < streams_.size(); ++i)
    if (streams_[i].live && i != running) next_.emplace(streams_[i].executor->time(), i);
}

}  // namespace assay::runtime::simulated
