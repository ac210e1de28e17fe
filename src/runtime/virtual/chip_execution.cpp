// Units, lanes, pipes and operations of a chip.
#include <cmath>

#include "runtime/virtual/chip_reader.h"

namespace assay::runtime::simulated {
namespace {

using namespace hwdesc;
using ir::ValueOp;

struct Named {
  ValueOp op;
  const char* name;
  const char* like;  // what it costs where the profile does not say
};

// add, sub, ... cost what a multiply-add does; the words below are rows of defaults.h.
constexpr Named kNamed[] = {
    {ValueOp::fma, "fma", "fma"},     {ValueOp::add, "add", "fma"},     {ValueOp::sub, "sub", "add"},
    {ValueOp::mul, "mul", "fma"},     {ValueOp::max, "max", "add"},     {ValueOp::min, "min", "max"},
    {ValueOp::div, "div", "div"},     {ValueOp::sqrt, "sqrt", "sqrt"},  {ValueOp::exp, "exp", "function"},
    {ValueOp::log, "log", "exp"},     {ValueOp::tanh, "tanh", "exp"},   {ValueOp::erf, "erf", "exp"},
    {ValueOp::pow, "pow", "exp"},     {ValueOp::floor, "floor", "add"}, {ValueOp::ceil, "ceil", "add"},
    {ValueOp::less, "less", "add"},   {ValueOp::equal, "equal", "add"}, {ValueOp::select, "select", "add"},
    {ValueOp::lane_index, "lane_index", "add"}};

const ComputeOp* find(const Profile& p, const std::string& op, const std::string& mode) {
  const ComputeOp* any = nullptr;
  for (const ComputeOp& c : p.compute) {
    if (c.op != op || c.dtype != "f32") continue;
    if (c.mode == mode && !mode.empty()) return &c;
    if (c.mode.empty()) any = &c;
  }
  return any;
}

class ModeReader {
 public:
  ModeReader(const ProfileReader& r, const LaneMode& mode, Chip& to) : r_(r), mode_(mode), chip_(to) {}

  Mode read(int width, int widest) {
    Mode m;
    m.width = width;
    read_issue(m);
    for (size_t i = 0; i < r_.p.pipes.size(); ++i) m.instruction.push_back(busy(r_.p.pipes[i], width, widest));
    for (const Named& n : kNamed) m.ops[static_cast<size_t>(n.op)] = cost(n.name, n.like, 0);
    // A sign is changed by an operation on bits.
    for (const ValueOp op : {ValueOp::neg, ValueOp::abs}) m.ops[static_cast<size_t>(op)] = {-1, 1, 1};
    m.gather_slots = apart("gather");
    m.scatter_slots = apart("scatter");
    return m;
  }

 private:
  // An instruction of a narrow vector takes the place of one of whole ones, unless its mode says otherwise.
  double busy(const Pipe& pipe, int width, int widest) const {
    for (const Pipe& own : mode_.pipes)
      if (own.name == pipe.name) return width / r_.rate(own.rate, defaults::kPipeRate);
    return (r_.simt ? width : widest) / r_.rate(pipe.rate, defaults::kPipeRate);
  }

  void read_issue(Mode& m) const {
    const Issue& own = mode_.issue.rate.known() ? mode_.issue : r_.p.execution.issue;
    m.issue = r_.rate(own.rate, defaults::kIssue[r_.simt ? 1 : 0]);
    // Of the whole unit: each partition has its part.
    if (own.per == "unit" && own.rate.known()) m.issue /= chip_.partitions;
  }

  int pipe_of(const std::string& name) const {
    for (size_t i = 0; i < chip_.pipes.size(); ++i)
      if (chip_.pipes[i] == name) return static_cast<int>(i);
    return -1;
  }

  OpCost cost(const std::string& name, const std::string& like, int depth) const {
    const double fma = defaults::kFmaLatency;
    if (const ComputeOp* c = find(r_.p, name, mode_.name)) {
      const OpCost otherwise = like == name || depth > 3 ? OpCost{-1, 1, fma} : inherited(like, depth);
      const Span latency = r_.span(c->latency, {otherwise.latency, 0});
      return {pipe_of(c->pipe), value_or(c->slots, 1), latency.at(chip_.clock)};
    }
    return inherited(like == name && name == "fma" ? "pipe" : like, depth);
  }

  OpCost inherited(const std::string& like, int depth) const {
    const int fma = pipe_of("fma");
    if (like == "pipe" || depth > 3) return {fma, 1, defaults::kFmaLatency};
    if (like == "div") return {fma, defaults::kSlotsOf[0], defaults::kLatencyOf[0]};
    if (like == "sqrt") return {fma, defaults::kSlotsOf[1], defaults::kLatencyOf[1]};
    if (like == "function") return {fma, defaults::kSlotsOf[2], defaults::kLatencyOf[2]};
    for (const Named& n : kNamed)
      if (n.name == like) return cost(like, n.like, depth + 1);
    return {fma, 1, defaults::kFmaLatency};
  }

  double apart(const char* op) const {
    const ComputeOp* c = find(r_.p, op, mode_.name);
    return c != nullptr ? value_or(c->slots, 0) : 0;
  }

  const ProfileReader& r_;
  const LaneMode& mode_;
  Chip& chip_;
};

// Threads and waves that are resident, the fewer of both.
int resident_waves(const Profile& p, int width) {
  const LaneMode* mode = nullptr;
  for (const LaneMode& m : p.execution.lanes.modes)
    if (m.width.known() && static_cast<int>(m.width.value->v) == width) mode = &m;
  const Resident& own = mode != nullptr && !mode->resident.per.empty() ? mode->resident : p.execution.resident;
  double waves = value_or(own.waves, 1e9);
  if (own.threads.known()) waves = std::min(waves, own.threads.value->v / width);
  if (waves >= 1e9) return defaults::kWavesResident;
  return std::max(1, static_cast<int>(waves));
}

}  // namespace

void read_execution(const ProfileReader& r, Chip& to) {
  const Profile& p = r.p;
  // Parts of a unit that issue on their own: what lies inside `unit` in the topology, down to whoever issues.
  const int issuers = p.execution.issue.per.empty() ? to.units : r.levels_of(p.execution.issue.per);
  to.partitions = std::max(1, issuers / to.units);
  for (const Pipe& pipe : p.pipes) {
    to.pipes.push_back(pipe.name);
    to.pipe_per_partition.push_back(r.levels_of(pipe.per) > to.units);
  }
  std::vector<LaneMode> modes;
  for (const LaneMode& m : p.execution.lanes.modes)
    if (m.width.known()) modes.push_back(m);
  if (modes.empty()) {
    modes.emplace_back();
    modes.back().width.value = Count{double(defaults::kWidth[r.simt ? 1 : 0])};
  }
  const auto width_of = [](const LaneMode& m) { return std::max(1, static_cast<int>(m.width.value->v)); };
  std::sort(modes.begin(), modes.end(), [&](const LaneMode& a, const LaneMode& b) { return width_of(a) < width_of(b); });
  for (const LaneMode& m : modes) to.modes.push_back(ModeReader(r, m, to).read(width_of(m), width_of(modes.back())));
  to.registers = static_cast<int>(value_or(p.execution.registers.count, 0));
  to.register_bytes = static_cast<int>(value_or(p.execution.registers.width, 0));
  to.waves = resident_waves(p, to.modes.front().width);
  to.groups = static_cast<int>(value_or(p.execution.resident.groups, 0));
  to.group_threads = static_cast<int>(value_or(p.execution.threads_per_group_max, 0));
}

}  // namespace assay::runtime::simulated
