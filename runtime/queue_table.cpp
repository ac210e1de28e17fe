#include "runtime/queue_table.h"

#include <algorithm>
#include <map>

#include "runtime/schedule.h"

namespace assay::runtime {
namespace {

using Kind = ir::Command::Kind;

constexpr int kOfNone = -1;  // command of a row

class TableBuilder {  // invariant: out_.commands has as many entries as units were added
 public:
  TableBuilder(std::span<const ir::Command> schedule, const QueueForm& form)
      : schedule_(schedule), form_(form), units_(units_of(schedule)) {
    for (const ir::Command& c : schedule)
      if (c.kind == Kind::signal) each_[named(c.counter)] += c.last - c.first;
  }

  QueueTable table(std::span<const std::vector<int64_t>> launches) {
    out_.words.resize(static_cast<size_t>(units_) + 1);
    for (const std::vector<int64_t>& l : launches) {
      launch_places_.push_back(place());
      out_.words.insert(out_.words.end(), l.begin(), l.end());
    }
    for (int u = 0; u < units_; ++u) {
      out_.words[static_cast<size_t>(u)] = place();
      add_unit(u);
      out_.most_rows = std::max(out_.most_rows, out_.commands.back().size());
    }
    out_.words[static_cast<size_t>(units_)] = place();
    return std::move(out_);
  }

 private:
  int64_t place() const { return static_cast<int64_t>(out_.words.size()); }
  int64_t fresh() { return out_.counters++; }
  int64_t named(int counter) {
    const auto [at, is_new] = counters_.emplace(counter, 0);
    if (is_new) at->second = fresh();
    return at->second;
  }

  void add(int command, int64_t kind, int64_t a, int64_t b = 0, int64_t c = 0) {
    out_.words.insert(out_.words.end(), {kind, a, b, c});
    out_.commands.back().push_back(command);
  }

  // Until `groups` of them have come here.
  void meet(int command, int64_t counter, int64_t groups) {
    add(command, 1, counter, -1);
    add(command, 2, counter, groups, groups);
    has_run_ = false;
  }

  // One counter for all units. `key`: a position in the schedule.
  void meet_all(int command, size_t key) {
    const auto [at, is_new] = barriers_.emplace(key, 0);
    if (is_new) at->second = fresh();
    meet(command, at->second, int64_t{units_} * form_.resident);
  }

  void add_run(int command, const ir::Command& c, int unit) {
    const auto [begin, end] = ir::groups_of(c, unit);
    if (begin >= end) return;
    if (form_.resident > 1 && has_run_) meet_unit();
    add(command, 0, launch_places_[static_cast<size_t>(c.step)], begin, end);
    has_run_ = true;
    own_ = -1;
  }

  // The unit's groups, behind its last run. Those that came to a signal since then are counted.
  void meet_unit() {
    if (own_ < 0)
      meet(kOfNone, fresh(), form_.resident);
    else
      add(kOfNone, 2, own_, form_.resident, form_.resident);
  }

  void add_signal(int command, const ir::Command& c) {
    own_ = form_.resident > 1 ? fresh() : -1;
    signalled_ = named(c.counter);
    add(command, 1, signalled_, own_);
  }

  void add_wait(int command, const ir::Command& c) {
    const int64_t counter = named(c.counter);
    add(command, 2, counter, c.value, each_[counter]);
    // It is for all signals, this unit's behind its last run too.
    if (own_ >= 0 && counter == signalled_ && c.value == each_[counter]) has_run_ = false;
  }

  void add_unit(int unit) {
    out_.commands.emplace_back();
    has_run_ = false;
    own_ = -1;
    for (size_t i = 0; i < schedule_.size(); ++i) {
      const ir::Command& c = schedule_[i];
      const int command = static_cast<int>(i);
      if (unit < c.first || unit >= c.last) continue;
      if (c.kind == Kind::run) add_run(command, c, unit);
      if (c.kind == Kind::signal) add_signal(command, c);
      if (c.kind == Kind::wait) add_wait(command, c);
      if (c.kind == Kind::barrier) meet_all(command, i);
    }
    if (form_.repeats) meet_all(kOfNone, schedule_.size());
  }

  const std::span<const ir::Command> schedule_;
  const QueueForm form_;
  const int units_;
  QueueTable out_;
  std::vector<int64_t> launch_places_;
  std::map<int, int64_t> counters_;     // of the schedule
  std::map<size_t, int64_t> barriers_;  // by position in the schedule; the last one behind it
  std::map<int64_t, int64_t> each_;
  // Of a unit: whether its groups ran some since they last met; behind its last run, the counter of
  // the groups that came to its last signal (-1: there is none), and what that signals.
  bool has_run_ = false;
  int64_t own_ = -1, signalled_ = -1;
};

}  // namespace

QueueTable queue_table(std::span<const ir::Command> schedule,
                       std::span<const std::vector<int64_t>> launches, const QueueForm& form) {
  return TableBuilder(schedule, form).table(launches);
}

void add_slices(std::vector<Slice>& out, int unit, std::span<const int> commands,
                std::span<const uint64_t> stamps, uint64_t begin, double ticks) {
  const auto seconds = [&](uint64_t at) {
    return static_cast<double>(at < begin ? 0 : at - begin) / ticks;
  };
  for (size_t i = 0; i < commands.size(); ++i) {
    if (commands[i] < 0) continue;
    const double end = seconds(stamps[i + 1]);
    if (!out.empty() && out.back().unit == unit && out.back().command == commands[i])
      out.back().end = end;
    else
      out.push_back({unit, commands[i], seconds(stamps[i]), end});
  }
}

}  // namespace assay::runtime
