// Units, lanes, pipes and operations of a chip.
#include <cmath>

#include "codegen/isa.h"
#include "runtime/virtual/chip_reader.h"
#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {
namespace {

using namespace hwdesc;
using ir::ValueOp;

struct Named {
  ValueOp op;
  const char* name;
  const char* like;  // whose cost it has by default
};

// By default, add, sub, ... cost as much as a multiply-add. "function" is a row of defaults.h.
constexpr Named kNamed[] = {{ValueOp::fma, "fma", "fma"},
                            {ValueOp::add, "add", "fma"},
                            {ValueOp::sub, "sub", "add"},
                            {ValueOp::mul, "mul", "fma"},
                            {ValueOp::max, "max", "add"},
                            {ValueOp::min, "min", "max"},
                            {ValueOp::div, "div", "div"},
                            {ValueOp::sqrt, "sqrt", "sqrt"},
                            {ValueOp::exp, "exp", "function"},
                            {ValueOp::log, "log", "exp"},
                            {ValueOp::tanh, "tanh", "exp"},
                            {ValueOp::erf, "erf", "exp"},
                            {ValueOp::pow, "pow", "exp"},
                            {ValueOp::floor, "floor", "add"},
                            {ValueOp::ceil, "ceil", "add"},
                            {ValueOp::round, "round", "add"},
                            {ValueOp::convert, "convert", "add"},
                            {ValueOp::less, "less", "add"},
                            {ValueOp::equal, "equal", "add"},
                            {ValueOp::select, "select", "add"},
                            {ValueOp::lane_index, "lane_index", "add"},
                            {ValueOp::dot, "dot", "fma"}};

constexpr ir::DType kTyped[] = {ir::DType::f64, ir::DType::i32,  ir::DType::i64,
                                ir::DType::f16, ir::DType::bf16, ir::DType::i8};

constexpr std::string_view kConvert = "convert_", kOfWhole = "_i32";

const ComputeOp* find(const Profile& p, const std::string& op, const std::string& mode,
                      std::string_view dtype = "f32") {
  const ComputeOp* any = nullptr;
  for (const ComputeOp& c : p.compute) {
    if (c.op != op || c.dtype != dtype) continue;
    if (c.mode == mode && !mode.empty()) return &c;
    if (c.mode.empty()) any = &c;
  }
  return any;
}

class ModeReader {
 public:
  ModeReader(const ProfileReader& r, const LaneMode& mode, Chip& to)
      : r_(r), mode_(mode), chip_(to) {}

  Mode read(int width, int widest) {
    Mode m;
    m.width = width;
    read_issue(m);
    for (size_t i = 0; i < r_.p.pipes.size(); ++i)
      m.instruction.push_back(busy(r_.p.pipes[i], width, widest));
    for (const Named& n : kNamed) m.ops[static_cast<size_t>(n.op)] = cost(n.name, n.like, 0);
    // Bitwise operations on the sign.
    for (const ValueOp op : {ValueOp::neg, ValueOp::abs})
      m.ops[static_cast<size_t>(op)] = {-1, 1, 1};
    read_typed(m);
    read_conversions(m);
    m.gather_slots = slots_per_lane("gather");
    m.scatter_slots = slots_per_lane("scatter");
    return m;
  }

 private:
  void read_typed(Mode& m) const {
    for (const ir::DType t : kTyped)
      for (const Named& n : kNamed)
        if (const ComputeOp* c = find(r_.p, n.name, mode_.name, ir::name_of(t)))
          m.typed.push_back({n.op,
                             t,
                             {pipe_of(c->pipe), value_or(c->slots, 1),
                              r_.span(c->latency, {defaults::kFmaLatency, 0}).at(chip_.clock)}});
  }

  // convert_load.f16 and the like; to and from whole numbers convert_load_i32.
  void read_conversions(Mode& m) const {
    for (const ComputeOp& c : r_.p.compute) {
      const auto stored = ir::parse_dtype(c.dtype);
      if (!c.op.starts_with(kConvert) || !stored || !c.slots.known()) continue;
      const bool whole = c.op.ends_with(kOfWhole);
      const size_t behind = whole ? kOfWhole.size() : 0;
      m.conversions.push_back({c.op.substr(kConvert.size(), c.op.size() - kConvert.size() - behind),
                               *stored, whole ? ir::DType::i32 : ir::DType::f32, pipe_of(c.pipe),
                               c.slots.value->v});
    }
  }

  // A narrow vector occupies a pipe as long as a full one, unless its mode has rates of its own.
  double busy(const Pipe& pipe, int width, int widest) const {
    for (const Pipe& own : mode_.pipes)
      if (own.name == pipe.name) return width / r_.rate(own.rate, defaults::kPipeRate);
    return (r_.simt ? width : widest) / r_.rate(pipe.rate, defaults::kPipeRate);
  }

  void read_issue(Mode& m) const {
    const Issue& own = mode_.issue.rate.known() ? mode_.issue : r_.p.execution.issue;
    m.issue = r_.rate(own.rate, defaults::kIssue[r_.simt ? 1 : 0]);
    // A rate per unit is shared by its partitions.
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
      const OpCost otherwise =
          like == name || depth > 3 ? OpCost{-1, 1, fma} : inherited(like, depth);
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

  double slots_per_lane(const char* op) const {
    const ComputeOp* c = find(r_.p, op, mode_.name);
    return c != nullptr ? value_or(c->slots, 0) : 0;
  }

  const ProfileReader& r_;
  const LaneMode& mode_;
  Chip& chip_;
};

// `name`: different addresses; `name`_same: one address for all of `sharers` units.
Atomic atomic_of(const ProfileReader& r, const Chip& chip, const std::string& name, int sharers,
                 const Span& latency, double interval) {
  Atomic a;
  const auto at = [&](const std::string& pipe) {
    for (size_t i = 0; i < chip.pipes.size(); ++i)
      if (chip.pipes[i] == pipe) return static_cast<int>(i);
    return -1;
  };
  a.pipe = at("store");
  a.latency = latency;
  a.interval = interval;
  if (const ComputeOp* c = find(r.p, name, "", "i32")) {
    a.pipe = at(c->pipe);
    a.slots = value_or(c->slots, 1);
    a.latency = r.span(c->latency, latency);
  }
  const ComputeOp* same = find(r.p, name + "_same", "", "i32");
  const int pipe = same != nullptr ? at(same->pipe) : -1;
  if (pipe >= 0)
    a.interval = value_or(same->slots, 1) /
                 r.rate(r.p.pipes[static_cast<size_t>(pipe)].rate, defaults::kPipeRate) / sharers;
  return a;
}

// Resident waves, limited by threads and by waves.
int resident_waves(const Profile& p, int width) {
  const LaneMode* mode = nullptr;
  for (const LaneMode& m : p.execution.lanes.modes)
    if (m.width.known() && static_cast<int>(m.width.value->v) == width) mode = &m;
  const Resident& own =
      mode != nullptr && !mode->resident.per.empty() ? mode->resident : p.execution.resident;
  double waves = value_or(own.waves, 1e9);
  if (own.threads.known()) waves = std::min(waves, own.threads.value->v / width);
  if (waves >= 1e9) return defaults::kWavesResident;
  return std::max(1, static_cast<int>(waves));
}

// Element types with a known cost; with threads, also their pairs.
void read_types(const Profile& p, Chip& to) {
  for (const ir::DType t : {ir::DType::f16, ir::DType::bf16, ir::DType::i8}) {
    const std::string name(ir::name_of(t));
    const bool has = std::any_of(p.compute.begin(), p.compute.end(), [&](const ComputeOp& c) {
      return c.dtype == name && c.op != "dot" && !c.op.starts_with(kConvert) &&
             (c.slots.known() || c.latency.known());
    });
    if (has) to.types.push_back(name);
    if (has && t != ir::DType::i8 && to.threads) to.types.push_back(name + "x2");
  }
  if (const ComputeOp* dot = find(p, "dot", "", "i8");
      dot != nullptr && (dot->slots.known() || dot->latency.known()))
    to.types.emplace_back("dot");
}

// Opaque fragments are simulated for cores.
bool has_fragments(const std::string& instruction, bool threads) {
  if (codegen::instruction_text(instruction).empty()) return false;
  const auto found = codegen::find_instruction(instruction);
  return found.ok() && found->computes.has_fragments() && !(threads && found->computes.opaque());
}

// Matrix instructions share one pipe per partition.
void read_matrix(const ProfileReader& r, Chip& to) {
  constexpr std::string_view kFolder = "isa/";
  for (const Instruction& i : r.p.instructions) {
    const std::string name = i.use.starts_with(kFolder) ? i.use.substr(kFolder.size()) : i.use;
    if (!i.rate.known() || !has_fragments(name, to.threads)) continue;
    const double instances = r.levels_of(i.per),
                 issuers = static_cast<double>(to.units) * to.partitions;
    to.matrix.push_back({name, r.rate(i.rate, 1) * instances / issuers,
                         r.span(i.latency, {defaults::kFmaLatency, 0}).at(to.clock)});
  }
  if (to.matrix.empty()) return;
  to.matrix_pipe = static_cast<int>(to.pipes.size());
  to.pipes.emplace_back("matrix");
  to.pipe_per_partition.push_back(true);
  for (Mode& m : to.modes) m.instruction.push_back(0);
}

}  // namespace

void read_execution(const ProfileReader& r, Chip& to) {
  const Profile& p = r.p;
  // Partitions: parts of a unit, inside `unit` in the topology, that issue independently.
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
  const auto width_of = [](const LaneMode& m) {
    return std::max(1, static_cast<int>(m.width.value->v));
  };
  std::sort(modes.begin(), modes.end(),
            [&](const LaneMode& a, const LaneMode& b) { return width_of(a) < width_of(b); });
  for (const LaneMode& m : modes)
    to.modes.push_back(ModeReader(r, m, to).read(width_of(m), width_of(modes.back())));
  read_types(p, to);
  read_matrix(r, to);
  to.code_bytes = value_or(p.execution.code.from, 0);
  const Registers& file = p.execution.registers;
  to.registers = static_cast<int>(value_or(file.count, 0));
  if (r.simt && !file.per.empty()) to.registers *= std::max(1, r.levels_of(file.per) / to.units);
  to.registers_max = static_cast<int>(value_or(file.per_thread_max, 0));
  to.granule = std::max(1, static_cast<int>(value_or(file.granule.regs, 1)));
  to.tells_registers = !p.apis.empty() && p.apis.front().name == "cuda";  // NVRTC reports them
  to.register_bytes = static_cast<int>(value_or(p.execution.registers.width, 0));
  to.waves = resident_waves(p, to.modes.front().width);
  to.groups = static_cast<int>(value_or(p.execution.resident.groups, 0));
  to.group_threads = static_cast<int>(value_or(p.execution.threads_per_group_max, 0));
}

int waves_of(const Chip& chip, const Code& code) {
  const int wave = mode_for(chip, code.width).width;
  return chip.threads ? (code.width + wave - 1) / wave : 1;
}

int registers_of(const Chip& chip, const Code& code) {
  const int wanted = code.most_registers + defaults::kOwnRegisters;
  return chip.registers_max > 0 ? std::min(wanted, chip.registers_max) : wanted;
}

int spilled_of(const Chip& chip, const Code& code) {
  return code.most_registers + defaults::kOwnRegisters - registers_of(chip, code);
}

void read_atomics(const ProfileReader& r, Chip& to) {
  const auto shared =
      std::find_if(to.levels.begin(), to.levels.end(), [](const Level& l) { return !l.unit_wide; });
  const Span far =
      r.simt && shared != to.levels.end() ? shared->latency : Span{defaults::kAtomic, 0};
  to.atomic = atomic_of(r, to, "atomic", to.units, far, r.simt ? 1 : defaults::kAtomic);
  to.own_atomic =
      atomic_of(r, to, "atomic_group", 1,
                to.scratch.exists ? to.scratch.latency : Span{defaults::kScratchLatency, 0}, 1);
}

}  // namespace assay::runtime::simulated
