#include "compiler/schedule/timed_list.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace assay::compiler {

namespace {

// Steps that are looked at when units become free.
constexpr size_t kMostTried = 32;

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

TimedList::TimedList(const ListProblem& problem, const WidthOptions& options)
    : p_(problem), options_(options), readers_(readers_of(problem)) {}

double TimedList::run(std::span<const int> choice) {
  const size_t n = options_.size();
  assigned_.assign(n, {});
  cause_.assign(n, -1);
  missing_.resize(n);
  seen_.assign(n, 0);
  ends_.assign(n, 0);
  until_.assign(at(p_.units), 0);
  user_.assign(at(p_.units), -1);
  events_.clear();
  ready_.clear();
  now_ = 0;
  over_ = -1;
  find_levels(choice);
  for (size_t s = 0; s < n; ++s) {
    missing_[s] = p_.dependencies[s].size();
    if (missing_[s] == 0) make_ready(static_cast<int>(s));
  }
  begin_steps(choice);
  while (!events_.empty()) {
    now_ = events_.front().time;
    while (!events_.empty() && events_.front().time <= now_) {
      const Event e = events_.front();
      std::ranges::pop_heap(events_, std::greater());
      events_.pop_back();
      if (e.kind == Event::Kind::over)
        over_ = e.step;
      else if (assigned_[at(e.step)].last == 0)
        make_ready(e.step);
    }
    begin_steps(choice);
  }
  return end_of(assigned_);
}

std::vector<int> TimedList::critical() const {
  std::vector<int> out;
  const auto last = std::ranges::max_element(assigned_, {}, &Assigned::end);
  for (int s = static_cast<int>(last - assigned_.begin()); s >= 0; s = cause_[at(s)])
    out.push_back(s);
  return out;
}

void TimedList::find_levels(std::span<const int> choice) {
  levels_.assign(options_.size(), 0);
  for (size_t s = levels_.size(); s-- > 0;) {
    const WidthOption& c = options_[s][at(choice[s])];
    levels_[s] += c.seconds;
    for (size_t d = 0; d < p_.dependencies[s].size(); ++d) {
      double& before = levels_[at(p_.dependencies[s][d])];
      before =
          std::max(before, levels_[s] + (needs_no_hand_off(p_, s, d, c.width) ? 0 : p_.hand_off));
    }
  }
}

void TimedList::make_ready(int s) { ready_.insert({-levels_[at(s)], s}); }

void TimedList::begin_steps(std::span<const int> choice) {
  find_free();
  size_t tried = 0;
  for (auto r = ready_.begin(); r != ready_.end() && !free_.empty() && tried < kMostTried;
       ++tried) {
    const int s = r->second, c = choice[at(s)];
    const bool begun =
        seen_[at(s)] <= now_ ? begin_anywhere(s, c) : begin_on_own_units(s, options_[at(s)][at(c)]);
    r = begun ? ready_.erase(r) : std::next(r);
  }
}

// Where its dependencies ran, before others see that they are over.
bool TimedList::begin_on_own_units(int s, const WidthOption& c) {
  const Assigned* own = nullptr;
  for (size_t d = 0; d < p_.dependencies[at(s)].size(); ++d) {
    const Assigned& before = assigned_[at(p_.dependencies[at(s)][d])];
    if (before.end + p_.hand_off <= now_) continue;
    const bool same = own == nullptr || (own->first == before.first && own->last == before.last);
    if (!same || before.last - before.first != c.units || !needs_no_hand_off(p_, at(s), d, c.width))
      return false;
    own = &before;
  }
  for (int u = own->first; u < own->last; ++u)
    if (until_[at(u)] > now_) return false;
  begin(s, c, own->first);
  return true;
}

bool TimedList::begin_anywhere(int s, int choice) {
  const WidthOption* c = &options_[at(s)][at(choice)];
  const Free *fits = nullptr, *longest = &free_.front();
  for (const Free& f : free_) {
    if (f.units() >= c->units && (fits == nullptr || f.units() < fits->units())) fits = &f;
    if (f.units() > longest->units()) longest = &f;
  }
  if (fits == nullptr) {
    const double waited = free_from(c->units) + c->seconds;
    while (choice >= 0 && options_[at(s)][at(choice)].units > longest->units()) --choice;
    if (choice < 0) return false;
    c = &options_[at(s)][at(choice)];
    if (now_ + c->seconds >= waited) return false;
    fits = longest;
  }
  begin(s, *c, fits->first);
  return true;
}

void TimedList::begin(int s, const WidthOption& c, int first) {
  const int last = first + c.units;
  if (now_ > ends_[at(s)] && now_ > seen_[at(s)]) {  // it has waited for units
    const auto latest = std::max_element(until_.begin() + first, until_.begin() + last);
    const int user = user_[at(static_cast<int>(latest - until_.begin()))];
    cause_[at(s)] = user >= 0 && *latest == now_ ? user : over_;
  }
  const double end = now_ + c.seconds;
  assigned_[at(s)] = {first, last, now_, end};
  std::fill(until_.begin() + first, until_.begin() + last, end);
  std::fill(user_.begin() + first, user_.begin() + last, s);
  take_from_free(first, last);
  const auto add = [&](const Event& e) {
    events_.push_back(e);
    std::ranges::push_heap(events_, std::greater());
  };
  add({end, s, Event::Kind::over});
  for (const int r : readers_[at(s)]) {
    if (end >= ends_[at(r)]) cause_[at(r)] = s;
    ends_[at(r)] = std::max(ends_[at(r)], end);
    seen_[at(r)] = std::max(seen_[at(r)], end + p_.hand_off);
    if (--missing_[at(r)] > 0) continue;
    add({ends_[at(r)], r, Event::Kind::own_units});
    if (p_.hand_off > 0) add({seen_[at(r)], r, Event::Kind::all_units});
  }
}

void TimedList::find_free() {
  free_.clear();
  for (int u = 0; u < p_.units; ++u) {
    if (until_[at(u)] > now_) continue;
    if (free_.empty() || free_.back().last != u) free_.push_back({u, u});
    ++free_.back().last;
  }
}

// When so many units beside each other are free.
double TimedList::free_from(int units) const {
  double out = std::numeric_limits<double>::infinity();
  for (int first = 0; first + units <= p_.units;) {
    double from = 0;
    int after = first + 1;  // the next range worth a look begins behind its latest unit
    for (int u = first; u < first + units && from < out; ++u)
      if (until_[at(u)] >= from) from = until_[at(u)], after = u + 1;
    out = std::min(out, from);
    first = after;
  }
  return out;
}

void TimedList::take_from_free(int first, int last) {
  const auto f = std::ranges::find_if(free_, [&](const Free& x) { return x.last > first; });
  const Free before{f->first, first}, behind{last, f->last};
  if (before.units() > 0 && behind.units() > 0) {
    *f = behind;
    free_.insert(f, before);
  } else if (before.units() > 0 || behind.units() > 0) {
    *f = before.units() > 0 ? before : behind;
  } else {
    free_.erase(f);
  }
}

}  // namespace assay::compiler
