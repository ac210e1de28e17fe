#include "ir/text_schedule.h"

#include <fmt/format.h>

#include "ir/limits.h"

namespace assay::ir {

namespace {

constexpr int64_t kMostCounters = 1 << 24;

std::string spell(const Plan& p, const Command& c) {
  const std::string units =
      c.first == 0 && c.last == p.units ? "" : fmt::format(", units: [{}, {}]", c.first, c.last);
  switch (c.kind) {
    case Command::Kind::barrier:
      return "barrier";
    case Command::Kind::signal:
      return fmt::format("{{signal: {}{}}}", c.counter, units);
    case Command::Kind::wait:
      return fmt::format("{{wait: {}, value: {}{}}}", c.counter, c.value, units);
    case Command::Kind::run:
      break;
  }
  const Step& step = p.steps[static_cast<size_t>(c.step)];
  const bool all =
      c.begin == 0 && c.end == group_count(p.programs[static_cast<size_t>(step.program)]);
  const std::string groups = all ? "" : fmt::format(", groups: [{}, {}]", c.begin, c.end);
  return fmt::format("{{run: {}{}{}}}", c.step, groups, units);
}

class ScheduleReader {
 public:
  ScheduleReader(TextReader& reader, Plan& p) : r_(reader), p_(p) {}

  Command read(const yaml::Node& node) {
    Command c{Command::Kind::barrier, 0, p_.units};
    if (node.kind == yaml::Node::Kind::scalar) {
      if (node.scalar != "barrier") r_.fault(node, "unknown command", kForms);
      return c;
    }
    if (!r_.is_map(node, "a command", {"run", "groups", "signal", "wait", "value", "units"}))
      return c;
    const yaml::Node *run = node.find("run"), *signal = node.find("signal"),
                     *wait = node.find("wait");
    if ((run != nullptr) + (signal != nullptr) + (wait != nullptr) != 1) {
      r_.fault(node, "a command is one of run, signal and wait", kForms);
      return c;
    }
    read_range(node, "units", p_.units, c.first, c.last);
    if (run != nullptr)
      read_run(node, *run, c);
    else
      read_counter(node, wait != nullptr ? *wait : *signal, wait != nullptr, c);
    return c;
  }

 private:
  static constexpr const char* kForms =
      "{run: STEP, groups: [0, 8], units: [0, 1]}, {signal: 0}, {wait: 0, value: 1}, barrier";

  void read_run(const yaml::Node& node, const yaml::Node& run, Command& c) {
    c.kind = Command::Kind::run;
    only(node, {"run", "groups", "units"});
    c.step = static_cast<int>(
        r_.integer(run, 0, static_cast<int64_t>(p_.steps.size()) - 1).value_or(-1));
    if (c.step < 0) return;
    const int program = p_.steps[static_cast<size_t>(c.step)].program;
    if (program < 0 || !verify(p_.programs[static_cast<size_t>(program)]).empty()) return;
    c.end = group_count(p_.programs[static_cast<size_t>(program)]);
    read_range(node, "groups", c.end, c.begin, c.end);
  }

  void read_counter(const yaml::Node& node, const yaml::Node& counter, bool waits, Command& c) {
    c.kind = waits ? Command::Kind::wait : Command::Kind::signal;
    c.counter = static_cast<int>(r_.integer(counter, 0, kMostCounters).value_or(0));
    if (waits) {
      only(node, {"wait", "value", "units"});
      if (const yaml::Node* value = r_.need(node, "value"))
        c.value = r_.integer(*value, 1, kMaxElements).value_or(1);
    } else {
      only(node, {"signal", "units"});
    }
  }

  void only(const yaml::Node& node, std::initializer_list<std::string_view> keys) {
    for (const yaml::Entry& e : node.entries)
      if (std::find(keys.begin(), keys.end(), e.key) == keys.end())
        r_.fault(node, fmt::format("`{}` is not of this command", e.key),
                 fmt::format("it has {}", fmt::join(keys, ", ")));
  }

  // `key: [begin, end]` inside [0, most); what is there stays where the key is absent.
  template <class Int>
  void read_range(const yaml::Node& node, std::string_view key, int64_t most, Int& begin,
                  Int& end) {
    const yaml::Node* found = node.find(key);
    if (found == nullptr) return;
    if (found->kind != yaml::Node::Kind::sequence || found->items.size() != 2) {
      r_.fault(*found, fmt::format("`{}` is a range [begin, end)", key));
      return;
    }
    const auto from = r_.integer(found->items[0], 0, most),
               to = r_.integer(found->items[1], 0, most);
    if (!from || !to) return;
    if (*from >= *to) {
      r_.fault(*found, fmt::format("`{}` is an empty range", key), "[begin, end), begin < end");
      return;
    }
    begin = static_cast<Int>(*from);
    end = static_cast<Int>(*to);
  }

  TextReader& r_;
  Plan& p_;
};

}  // namespace

std::string print_schedule(const Plan& p) {
  if (p.schedule.empty()) return "";
  std::string out = "schedule:\n";
  for (const Command& c : p.schedule) out += fmt::format("  - {}\n", spell(p, c));
  return out;
}

void read_schedule(TextReader& reader, const yaml::Node& node, Plan& p) {
  if (!reader.is_list(node, "schedule")) return;
  if (node.items.empty())
    reader.fault(node, "the schedule has no commands",
                 "without `schedule` each step runs on all units, with a barrier behind it");
  ScheduleReader commands(reader, p);
  for (const yaml::Node& item : node.items) p.schedule.push_back(commands.read(item));
}

std::string print_phases(const Plan& p) {
  if (p.phases.empty()) return "";
  std::string out = "phases:\n";
  for (const std::vector<int>& steps : p.phases)
    out += fmt::format("  - [{}]\n", fmt::join(steps, ", "));
  return out;
}

void read_phases(TextReader& reader, const yaml::Node& node, Plan& p) {
  if (!reader.is_list(node, "phases")) return;
  if (node.items.empty())
    reader.fault(node, "there are no phases", "without `phases` each step is a launch");
  const auto last = static_cast<int64_t>(p.steps.size()) - 1;
  for (const yaml::Node& phase : node.items) {
    std::vector<int>& steps = p.phases.emplace_back();
    if (!reader.is_list(phase, "a phase")) continue;
    for (const yaml::Node& step : phase.items)
      steps.push_back(static_cast<int>(reader.integer(step, 0, last).value_or(0)));
  }
}

}  // namespace assay::ir
