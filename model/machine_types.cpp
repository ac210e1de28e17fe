// Rates by element type, matrix instructions, registers of threads, launches by kind.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "lower/instruction.h"
#include "model/resolving.h"

namespace assay::model {
namespace {

class TypesResolver : Resolving {
 public:
  TypesResolver(const hwdesc::Target& target, Resolution& out) : Resolving(target, out) {}

  void resolve(std::span<const ir::MatrixInstruction> described) {
    const auto& registers = p_.execution.registers;
    if (m_.simt && registers.count.known()) m_.partitions = std::max(1.0, per_unit(registers.per));
    if (m_.simt) m_.issuers = std::max(1.0, std::round(m_.issue_rate.value / m_.clock));
    if (registers.per_thread_max.known())
      m_.registers_per_thread_max = registers.per_thread_max.value->v;
    if (registers.granule.regs.known())
      m_.register_granule = std::max(1.0, registers.granule.regs.value->v);
    for (const hwdesc::MemoryLevel& l : p_.memory) {
      if (m_.banks > 0 || !l.banks.count.known()) continue;
      m_.banks = l.banks.count.value->v;
      if (l.banks.width.known()) m_.bank_width = l.banks.width.value->v;
    }
    for (const hwdesc::ComputeOp& c : p_.compute) resolve_type(c);
    for (const hwdesc::ComputeOp& c : p_.compute) resolve_conversion(c);
    if (product_rate(m_, ir::DType::i32, "") <= 0) resolve_whole_numbers();
    for (const hwdesc::Instruction& i : p_.instructions) resolve_instruction(i, described);
    m_.eager_launch = launch(api_.launch.eager, "eager");
    m_.stream_launch = launch(api_.launch.stream, "stream");
    m_.graph_launch = launch(api_.launch.graph, "graph");
    m_.beside_launch = launch(api_.launch.beside, "beside");
    resolve_power();
  }

 private:
  Quantity launch(const hwdesc::Value<hwdesc::Seconds>& v, const std::string& name) const {
    if (!v.known()) return {};
    return {v.value->v, spread_of(v), false, "apis." + api_.name + ".launch." + name};
  }

  Quantity energy(const std::string& event) const {
    for (const auto& [name, value] : p_.power.energy)
      if (name == event && value.known())
        return {value.value->v, spread_of(value), false, "power.energy." + event};
    return {};
  }

  void resolve_power() {
    const hwdesc::Power& power = p_.power;
    if (!power.cap.known() || power.energy.empty()) return;
    const double idle =
        power.idle.known() ? power.idle.value->v : assume(0, "power.idle", "0 W: unknown").value;
    m_.power = {std::max(0.0, power.cap.value->v - idle), spread_of(power.cap), false, "power.cap"};
    for (Level& l : m_.levels) l.energy = energy(l.name);
    m_.simple_energy = energy("add.f32");
    m_.divide_energy = energy("div.f32");
    m_.math_energy = energy("exp.f32");
  }

  // Of a multiply-add on plain lanes.
  void resolve_type(const hwdesc::ComputeOp& c) {
    const auto type = ir::parse_dtype(c.dtype);
    if (c.op != "fma" || !type || !c.mode.empty()) return;
    for (const hwdesc::Pipe& pipe : p_.pipes) {
      if (pipe.name != c.pipe || !pipe.rate.known()) continue;
      const double slots = c.slots.known() ? c.slots.value->v : 1;
      const hwdesc::Rate& r = *pipe.rate.value;
      TypeRate rate;
      rate.type = *type;
      rate.multiply_adds = {r.v * ticks(r.clock) * per_unit(pipe.per) / slots,
                            spread_of(pipe.rate) + spread_of(c.slots), false,
                            "compute.fma." + c.dtype, per_unit(pipe.per)};
      rate.energy = energy("fma." + c.dtype);
      m_.types.push_back(std::move(rate));
      return;
    }
  }

  // convert_load.f16 and the like: a vector's time on their pipe over that of an addition.
  void resolve_conversion(const hwdesc::ComputeOp& c) {
    constexpr std::array<std::pair<const char*, Access>, 3> kAccesses = {
        {{"convert_load", Access::load},
         {"convert_splat", Access::splat},
         {"convert_store", Access::store}}};
    const auto stored = ir::parse_dtype(c.dtype);
    if (!stored || !c.slots.known() || !c.mode.empty()) return;
    for (const auto& [name, access] : kAccesses)
      for (const hwdesc::Pipe& pipe : p_.pipes) {
        const bool whole = c.op == std::string(name) + "_i32";
        if ((c.op != name && !whole) || pipe.name != c.pipe || !pipe.rate.known()) continue;
        const hwdesc::Rate& r = *pipe.rate.value;
        const double slots = r.v * ticks(r.clock) * per_unit(pipe.per),
                     own = slots / (m_.native_width * c.slots.value->v);
        m_.conversions.push_back({access,
                                  *stored,
                                  whole ? ir::DType::i32 : ir::DType::f32,
                                  {m_.alu_rate.value / own, spread_of(c.slots), false,
                                   "compute." + c.op + "." + c.dtype}});
      }
  }

  // Lanes without a multiply-add of i32 multiply, then add.
  void resolve_whole_numbers() {
    const auto op = [&](const char* name) -> const hwdesc::ComputeOp* {
      for (const hwdesc::ComputeOp& c : p_.compute)
        if (c.op == name && c.dtype == "i32" && c.mode.empty() && c.slots.known()) return &c;
      return nullptr;
    };
    const hwdesc::ComputeOp *mul = op("mul"), *add = op("add");
    if (mul == nullptr) return;
    for (const hwdesc::Pipe& pipe : p_.pipes) {
      if (pipe.name != mul->pipe || !pipe.rate.known()) continue;
      const bool shared = add != nullptr && add->pipe == mul->pipe;
      const double slots = mul->slots.value->v + (shared ? add->slots.value->v : 0);
      const hwdesc::Rate& r = *pipe.rate.value;
      TypeRate rate;
      rate.type = ir::DType::i32;
      rate.multiply_adds = {r.v * ticks(r.clock) * per_unit(pipe.per) / slots,
                            spread_of(pipe.rate) + spread_of(mul->slots), false, "compute.mul.i32",
                            per_unit(pipe.per)};
      m_.types.push_back(std::move(rate));
    }
  }

  // Ticks of the core clock under matrix instructions, which draw more power than others.
  double matrix_ticks(const std::string& clock) const {
    const double usual = ticks(clock);
    for (const hwdesc::Clock& c : p_.clocks)
      for (const auto& [load, value] : c.sustained)
        if (c.name == clock && load == "mma" && value.known())
          return std::min(usual, value.value->v);
    return usual;
  }

  void resolve_instruction(const hwdesc::Instruction& i,
                           std::span<const ir::MatrixInstruction> described) {
    const std::string name = i.use.substr(i.use.rfind('/') + 1);
    const auto given = std::find_if(described.begin(), described.end(),
                                    [&](const auto& d) { return d.name == name; });
    const lower::KnownInstruction* known = lower::known_instruction(name);
    const ir::MatrixInstruction* found = given != described.end() ? &*given
                                         : known != nullptr       ? &known->computes
                                                                  : nullptr;
    if (found == nullptr) m_.undescribed.push_back(name);
    if (found == nullptr || !i.rate.known()) return;
    const hwdesc::Rate& r = *i.rate.value;
    MatrixRate rate;
    rate.instruction = ir::widened(*found, m_.native_width);
    rate.multiply_adds = {r.v * (r.clock.empty() ? 1 : matrix_ticks(r.clock)) * per_unit(i.per),
                          spread_of(i.rate), false, "instructions." + i.use + ".rate",
                          per_unit(i.per)};
    rate.energy = energy(name);
    if (i.latency.known())
      rate.latency = {seconds(*i.latency.value), spread_of(i.latency), false,
                      "instructions." + i.use + ".latency"};
    m_.instructions.push_back(std::move(rate));
  }
};

}  // namespace

void resolve_types(const hwdesc::Target& target, std::span<const ir::MatrixInstruction> described,
                   Resolution& out) {
  TypesResolver(target, out).resolve(described);
}

const MatrixRate* matrix_rate(const Machine& m, const std::string& instruction) {
  for (const MatrixRate& r : m.instructions)
    if (r.instruction.name == instruction) return &r;
  return nullptr;
}

double seconds_of_instruction(const Machine& m, const std::string& name) {
  const MatrixRate* r = matrix_rate(m, name);
  if (r == nullptr) return 0;
  const ir::MatrixInstruction& i = r->instruction;
  return static_cast<double>(i.m) * i.n * i.k / r->multiply_adds.value;
}

double product_rate(const Machine& machine, ir::DType type, const std::string& instruction) {
  if (!instruction.empty()) {
    const MatrixRate* m = matrix_rate(machine, instruction);
    return m == nullptr ? 0 : m->multiply_adds.value;
  }
  for (const TypeRate& t : machine.types)
    if (t.type == type) return t.multiply_adds.value;
  return 0;
}

double multiply_add_cost(const Machine& machine, ir::DType computed) {
  const double usual = product_rate(machine, ir::DType::f32, ""),
               own = product_rate(machine, computed, "");
  return usual > 0 && own > 0 ? usual / own : 1;
}

double product_energy(const Machine& machine, ir::DType type, const std::string& instruction) {
  for (const MatrixRate& m : machine.instructions)
    if (m.instruction.name == instruction) return m.energy.value;
  for (const TypeRate& t : machine.types)
    if (instruction.empty() && t.type == type) return t.energy.value;
  return 0;
}

}  // namespace assay::model
