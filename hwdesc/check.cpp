#include "hwdesc/check.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <concepts>
#include <iterator>
#include <set>

#include "hwdesc/check_memory.h"
#include "hwdesc/plausible.h"
#include "hwdesc/reader.h"
#include "hwdesc/scales.h"
#include "hwdesc/spellings.h"
#include "hwdesc/walk.h"

namespace assay::hwdesc {

namespace {

template <class List>
std::vector<std::string> keys_of(const List& list) {
  std::vector<std::string> out;
  for (const auto& e : list) {
    if constexpr (requires { e.first; })
      out.push_back(e.first);
    else
      out.push_back(key_of(e));
  }
  return out;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

struct Declared {
  std::vector<std::string> places, clocks, modes, pipes, memories, paths, references;
};

Declared declared(const Profile& p) {
  Declared d{keys_of(p.topology),  keys_of(p.clocks), keys_of(p.execution.lanes.modes),
             keys_of(p.pipes),     keys_of(p.memory), keys_of(p.paths),
             keys_of(p.references)};
  d.places.insert(d.places.begin(), {"device", "host"});
  return d;
}

// Outside these bounds, arithmetic over a profile would underflow or overflow.
constexpr double kLeast = 1e-18, kMost = 1e18;

// Keys whose values are whole numbers, wherever they occur.
bool is_whole(const Path& path) {
  static constexpr const char* kNames[] = {"width", "waves", "groups", "threads", "ways", "count"};
  return std::find(std::begin(kNames), std::end(kNames), path.back()) != std::end(kNames);
}

// A capacity, rate or count of 0 would mean that the thing does not exist, so it is a fault.
bool may_be_zero(Dimension d) {
  return d == Dimension::latency || d == Dimension::seconds || d == Dimension::watts ||
         d == Dimension::joules;
}

class LeafChecks {  // leaf: checks of one value or one word
 public:
  LeafChecks(const Declared& declared, Findings& out) : declared_(declared), out_(out) {}

  template <class M>
  void operator()(const Path& path, const M& member) {
    if constexpr (AValue<M>) {
      check_value(dotted(path), to_any(member));
      if constexpr (std::same_as<M, Value<Count>>)
        if (member.known() && is_whole(path) && member.value->v != std::floor(member.value->v))
          fault(out_, dotted(path), print_number(member.value->v) + " is no whole number");
    } else if constexpr (AWord<M>) {
      if (path.back() == "per" && path[path.size() - 2] != "granule" && !member.empty())
        must_be(path, member, declared_.places, "is not a level of topology");
      if (path.back() == "pipe" && !member.empty())
        must_be(path, member, declared_.pipes, "is not one of pipes");
      if (path.front() == "compute") check_op(path, member);
      if (path.back() == "backed_by" && !member.empty())
        must_be(path, member, declared_.memories, "is not one of memory");
      if (path.front() == "memory" && path.back() == "path" && !member.empty())
        must_be(path, member, declared_.paths, "is not one of paths");
      if (path.front() == "movers" && (path.back() == "from" || path.back() == "to"))
        must_be(path, member, declared_.memories, "is not one of memory");
    } else if constexpr (WordList<M>) {
      if (path.back() == "through")
        for (const std::string& m : member)
          must_be(path, m, declared_.memories, "is not one of memory");
    }
  }

 private:
  // Operations and element types are free words, but synonyms are refused.
  void check_op(const Path& path, const std::string& word) {
    const std::string instead = spelling_of_word(path.back(), word);
    if (!instead.empty())
      fault(out_, dotted(path), "'" + word + "' has another name here", "write " + instead);
    if (path.back() == "mode" && !word.empty())
      must_be(path, word, declared_.modes, "is not one of execution.lanes.modes");
  }

  void must_be(const Path& path, const std::string& word, const std::vector<std::string>& known,
               const char* complaint) {
    if (!contains(known, word))
      fault(out_, dotted(path), "'" + word + "' " + complaint, did_you_mean(word, known));
  }

  void check_value(const std::string& path, const AnyValue& v) {
    for (const auto& q : {v.value, v.low, v.high})
      if (q) check_quantity(path, *q, v.dimension);
    if (!v.ref.empty() && !contains(declared_.references, v.ref))
      fault(out_, path, "'" + v.ref + "' is not one of references",
            did_you_mean(v.ref, declared_.references));
    if (v.value) check_interval(path, v);
  }

  void check_quantity(const std::string& path, const Quantity& q, Dimension d) {
    const std::string text = print_quantity(q.v, q.clock, d);
    if (q.v < 0) fault(out_, path, text + " is negative");
    // A probe may find that nothing is evicted.
    if (q.v == 0 && !may_be_zero(d) && !path.ends_with(".co_tenant_eviction"))
      fault(out_, path, text + " is no value",
            "leave it out, or write unknown, where nothing is known");
    if (q.v > kMost || (q.v > 0 && q.v < kLeast))
      fault(out_, path, text + " is out of all bounds",
            "from 1e-18 to 1e18 of the unit without a prefix");
    if (!q.clock.empty() && !contains(declared_.clocks, q.clock))
      fault(out_, path, "'" + q.clock + "' is not one of clocks",
            did_you_mean(q.clock, declared_.clocks));
  }

  void check_interval(const std::string& path, const AnyValue& v) {
    const Quantity& q = *v.value;
    for (const auto& end : {v.low, v.high})
      if (end && end->clock != q.clock)
        return fault(out_, path, "value and interval are counted by different clocks");
    auto text = [&](const Quantity& x) { return print_quantity(x.v, x.clock, v.dimension); };
    if (v.low && v.low->v > q.v)
      fault(out_, path, "low " + text(*v.low) + " is above the value " + text(q));
    if (v.high && v.high->v < q.v)
      fault(out_, path, "high " + text(*v.high) + " is below the value " + text(q));
  }

  const Declared& declared_;
  Findings& out_;
};

bool is_name(const std::string& s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/';
  });
}

// Keys are parts of paths, so they must be unique names.
template <class List>
void check_keys(Findings& out, const std::string& path, const List& list) {
  std::set<std::string> seen;
  for (const std::string& key : keys_of(list)) {
    if (!is_name(key))
      fault(out, join_path(path, key), "'" + key + "' is not a name",
            "letters, digits, and any of _ - . /");
    if (!seen.insert(key).second) fault(out, join_path(path, key), "duplicate entry '" + key + "'");
  }
}

// As the library names its own. A name becomes a file name, and a word of a command line.
void check_name(Findings& out, const Profile& p) {
  std::string allowed;
  for (const char c : p.name) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '.')
      allowed += static_cast<char>(std::tolower(u));
    else if (!allowed.empty() && allowed.back() != '-')
      allowed += '-';
  }
  while (allowed.ends_with('-')) allowed.pop_back();
  if (allowed == p.name && !p.name.empty()) return;
  fault(out, "name", "found '" + p.name + "', expected lower case, words joined by -",
        allowed.empty() ? "such as nvidia-a100-sxm4-40gb" : "write " + allowed);
}

void check_all_keys(Findings& out, const Profile& p) {
  check_keys(out, "references", p.references);
  check_keys(out, "identity", p.identity);
  check_keys(out, "clocks", p.clocks);
  for (const Clock& c : p.clocks) check_keys(out, "clocks." + c.name + ".sustained", c.sustained);
  check_keys(out, "topology", p.topology);
  if (p.execution.lanes.modes.size() > 1)
    check_keys(out, "execution.lanes.modes", p.execution.lanes.modes);
  check_keys(out, "pipes", p.pipes);
  check_keys(out, "memory", p.memory);
  check_keys(out, "tlb", p.tlb);
  check_keys(out, "movers", p.movers);
  check_keys(out, "paths", p.paths);
  check_keys(out, "compute", p.compute);
  check_keys(out, "instructions", p.instructions);
  check_keys(out, "power.energy", p.power.energy);
  check_keys(out, "apis", p.apis);
  for (const Api& a : p.apis) {
    check_keys(out, "apis." + a.name + ".wide_barrier", a.wide_barrier);
    check_keys(out, "apis." + a.name + ".coresident_barrier", a.coresident_barrier);
  }
}

template <class Part>
void needs_per(Findings& out, const std::string& path, const Part& part) {
  if (part != Part{} && part.per.empty())
    fault(out, path, "`per` is missing", "per: the level of topology that has one");
}

void check_places(Findings& out, const Profile& p) {
  if (!p.topology.empty() && !contains(keys_of(p.topology), "unit"))
    fault(out, "topology", "no level is called unit",
          p.topology.size() > 1 ? std::string("unit is what runs a group; ") + kTopologyNests
                                : "unit is what runs a group: SM, CU, shader core, CPU core, tile");
  for (const char* name : {"device", "host"})
    if (contains(keys_of(p.topology), name))
      fault(out, join_path("topology", name), std::string(name) + " is implied", "leave it out");
  for (const LaneMode& m : p.execution.lanes.modes) {
    const std::string path = "execution.lanes.modes." + key_of(m);
    needs_per(out, path + ".registers", m.registers);
    needs_per(out, path + ".resident", m.resident);
    needs_per(out, path + ".issue", m.issue);
    check_keys(out, path + ".pipes", m.pipes);
  }
  needs_per(out, "execution.registers", p.execution.registers);
  needs_per(out, "execution.resident", p.execution.resident);
  needs_per(out, "execution.issue", p.execution.issue);
  for (const Pipe& x : p.pipes) needs_per(out, "pipes." + x.name, x);
  for (const Instruction& x : p.instructions) needs_per(out, "instructions." + x.use, x);
  for (const MemoryLevel& x : p.memory) {
    needs_per(out, "memory." + x.name, x);
    needs_per(out, "memory." + x.name + ".outstanding", x.outstanding);
  }
}

// The class is for display only, so an unknown one is a warning.
void check_class(Findings& out, const Profile& p) {
  const std::vector<std::string> known = {"cpu", "gpu", "mobile_gpu", "npu"};
  if (!p.chip_class.empty() && !contains(known, p.chip_class))
    warn(out, "class", "'" + p.chip_class + "' is no class of chips",
         did_you_mean(p.chip_class, known));
}

// Energies that nothing of the profile uses would be ignored.
void check_energy(Findings& out, const Profile& p) {
  std::vector<std::string> known = keys_of(p.memory);
  for (const ComputeOp& c : p.compute) known.push_back(c.op + "." + c.dtype);
  for (const Instruction& i : p.instructions) known.push_back(i.use.substr(i.use.rfind('/') + 1));
  for (const auto& [event, value] : p.power.energy)
    if (!contains(known, event))
      fault(out, "power.energy." + event,
            "'" + event + "' is no memory, operation (as fma.f32) or instruction of this profile",
            did_you_mean(event, known));
}

}  // namespace

std::vector<Finding> inconsistencies(const Profile& p) {
  Findings out;
  check_name(out, p);
  check_all_keys(out, p);
  const Declared names = declared(p);
  walk(p, LeafChecks(names, out));
  check_places(out, p);
  check_class(out, p);
  check_memory(out, p);
  check_energy(out, p);
  return out;
}

std::vector<Finding> missing_for_prediction(const Profile& p) {
  Findings out;
  if (!ticks_per_second(p, "core"))
    warn(out, "clocks.core", "unknown: where a time depends on it, predictions assume 1 GHz",
         "values in its ticks are refused");
  const auto unit = std::find_if(p.topology.begin(), p.topology.end(),
                                 [](const auto& t) { return t.name == "unit"; });
  if (unit == p.topology.end() || !unit->count.known())
    fault(out, "topology.unit", "unknown, but needed to predict");
  const bool fma = std::any_of(p.compute.begin(), p.compute.end(), [](const ComputeOp& c) {
    return (c.op == "fma" || c.op == "mul") && c.dtype == "f32";
  });
  if (!fma && !contains(keys_of(p.pipes), "fma"))
    fault(out, "compute.fma.f32",
          "neither this nor a pipe fma is known, but one is needed to predict");
  if (p.memory.empty()) fault(out, "memory", "no memory is known, but one is needed to predict");
  return out;
}

Diag to_diag(const Finding& f) {
  Diag d = error(f.path + ": " + f.message, f.hint);
  d.severity = f.severity;
  return d;
}

Diags check(const Profile& profile) {
  Diags out;
  Findings findings = inconsistencies(profile);
  check_plausible(findings, profile);
  for (const Finding& f : findings) out.push_back(to_diag(f));
  for (const Finding& f : missing_for_prediction(profile)) out.push_back(to_diag(f));
  return out;
}

}  // namespace assay::hwdesc
