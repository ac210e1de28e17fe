#include "compiler/search/construct.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/search/candidate_times.h"
#include "compiler/search/space.h"
#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"

namespace assay::compiler {

namespace {

// Exact counts when the program lowers; without a known dialect the closed form stands.
bool rescore(Candidate& c, const Problem& problem, const hwdesc::Target& target,
             const model::Machine& m, const simulator::CacheState& before,
             std::span<const simulator::Range> where, Diags& why) {
  if (!c.program.workers.empty() && !target.dialect.known) return true;  // predicted only
  if (!problem.group.empty()) {  // counted with the programs that share its groups
    why = lower::legal(c.program, target);
    return why.empty();
  }
  const Result<ir::Kernel> kernel = lower::lower(c.program, target);
  if (!kernel.ok()) {
    why = kernel.diags();
    return false;
  }
  const lower::Counts counts = lower::count(*kernel);
  c.estimate = simulator::estimate(c.program, m, before, where, &counts);
  return true;
}

// Are more vectors live in the innermost loop than there are registers? Values that a compiler
// hoists count too. All waves of a group hold theirs at once.
bool spills(const ir::Program& p, const model::Machine& m) {
  if (p.threads) return false;  // its estimate says what spills cost
  if (m.simt) return simulator::registers_per_group(p) > m.vector_registers;
  if (!p.workers.empty() || p.graph.nodes[0].combine == ir::Combiner::none) return false;
  return static_cast<double>(lower::live_vectors(p) + lower::hoisted_vectors(p)) >
         m.vector_registers;
}

// Groups that are given have so many waves, and inner tiles divide theirs.
bool keeps_groups(const Problem& problem, const ir::Program& p) {
  if (problem.group.empty()) return true;
  int64_t waves = 1;
  for (const int w : p.workers) waves *= w;
  return p.tiles[0].extent == problem.group && waves == problem.waves && !p.threads &&
         ir::tile_faults(p).empty();
}

bool faster(const Candidate& a, const Candidate& b) {
  return a.estimate.seconds < b.estimate.seconds;
}

// Traffic of caches and memories that units share, both directions.
double shared_bytes(const Candidate& c) {
  double sum = 0;
  for (const model::LevelUse& u : c.estimate.levels)
    if (u.shared) sum += u.read_bytes + u.written_bytes;
  return sum;
}

// Of the candidates whose times the model can not tell from the fastest, the one with the least
// traffic through shared levels goes first, if its traffic is clearly less. Co-tenants use those
// levels too, and no profile says when. A GPU belongs to one guest, so its order stays.
void prefer_own(std::vector<Candidate>& sorted, const model::Machine& m) {
  if (sorted.empty() || m.simt) return;
  const auto alike = std::find_if(sorted.begin(), sorted.end(), [&](const Candidate& c) {
    return c.estimate.seconds > kAlike * sorted.front().estimate.seconds;
  });
  const auto least = std::min_element(
      sorted.begin(), alike,
      [](const Candidate& a, const Candidate& b) { return shared_bytes(a) < shared_bytes(b); });
  if (shared_bytes(*least) < kClearlyLess * shared_bytes(sorted.front()))
    std::rotate(sorted.begin(), least, least + 1);
}

using Fastest = std::map<std::string, Alternative>;

void note(Fastest& to, const std::string& instruction, double seconds, bool at_least) {
  const auto [found, fresh] =
      to.try_emplace(instruction, Alternative{instruction, seconds, at_least});
  if (!fresh && seconds < found->second.seconds) found->second = {instruction, seconds, at_least};
}

// Per instruction; those of the best candidate are left out.
std::vector<Alternative> others_of(const std::vector<Candidate>& estimated,
                                   const std::vector<Bounded>& bounded, const std::string& chosen) {
  Fastest all;
  for (const Candidate& c : estimated) note(all, c.program.instruction, c.estimate.seconds, false);
  for (size_t i = estimated.size(); i < bounded.size(); ++i)
    if (!all.contains(bounded[i].program.instruction))
      note(all, bounded[i].program.instruction, bounded[i].least, true);
  all.erase(chosen);
  std::vector<Alternative> out;
  for (auto& [name, a] : all) out.push_back(std::move(a));
  return out;
}

}  // namespace

std::string print(const Alternative& a) {
  return fmt::format("by {}: {}{:.4g} us", a.instruction.empty() ? "multiply-adds" : a.instruction,
                     a.at_least ? "at least " : "", a.seconds * 1e6);
}

std::vector<Choice> choices_for(const Space& s, bool printed) {
  if (!ir::is_expression(s.anchor)) return kind_choices(s);
  const bool scratchpad = std::any_of(s.machine.levels.begin(), s.machine.levels.end(),
                                      [](const model::Level& l) { return l.is_scratchpad; });
  const bool waves = s.machine.simt && printed;
  // Of several workers, which vector code has not.
  const bool groups = scratchpad && (waves ? s.dense : !printed);
  if (!waves && !groups) return s.dense ? dense_choices(s) : plain_choices(s);
  std::vector<Choice> all = waves ? wave_choices(s) : std::vector<Choice>{};
  const auto add = [&](std::vector<Choice> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  if (!s.problem.group.empty()) {
    all = share_tiles(s, std::move(all));
    if (groups) add(share_tiles(s, scratchpad_choices(s, 1)));
    add(by_instructions(s, all));
    add(share_tiles(s, fragment_choices(s)));
    return all;
  }
  add(thread_choices(s));
  if (!groups) return all;
  add(scratchpad_choices(s, !waves && s.machine.copies_overlap ? 2 : 1));
  add(by_instructions(s, all));
  add(fragment_choices(s));
  return all;
}

namespace {

// A choice as a program with its bound, or why it is left out.
struct Considered {
  std::optional<Bounded> bounded;
  Diags why;
};

Considered consider(const Space& space, const Choice& choice, const CandidateTimes& times,
                    const hwdesc::Target& target) {
  ir::Program program = build(space, choice);
  if (spills(program, space.machine) || !keeps_groups(space.problem, program)) return {};
  const bool printed = target.dialect.known || program.workers.empty();
  Diags over = printed ? lower::over_limits(program, target) : lower::unpriceable(program, target);
  if (!over.empty()) return {std::nullopt, std::move(over)};
  return {times.bound(std::move(program)), {}};
}

}  // namespace

Result<Constructed> construct(const Problem& problem, const hwdesc::Target& target,
                              const model::Machine& m, const simulator::CacheState& before,
                              std::span<const simulator::Range> where, int keep,
                              const ForEach& each) {
  const Space space(problem, m);
  const CandidateTimes times(problem, m, before, where, each);
  const std::vector<Choice> choices = choices_for(space, target.dialect.known);
  std::vector<Considered> considered(choices.size());
  times.each(choices.size(),
             [&](size_t i) { considered[i] = consider(space, choices[i], times, target); });
  Constructed out;
  std::vector<Bounded> bounded;
  Diags why;
  for (Considered& c : considered) {
    if (!c.why.empty()) why = std::move(c.why);
    if (c.bounded)
      bounded.push_back(std::move(*c.bounded));
    else
      ++out.pruned;
  }
  std::vector<Candidate> candidates = times.fastest(bounded, keep);
  out.evaluated += static_cast<int64_t>(candidates.size());
  out.pruned += static_cast<int64_t>(bounded.size() - candidates.size());
  std::stable_sort(candidates.begin(), candidates.end(), faster);
  prefer_own(candidates, m);
  if (!candidates.empty() && !m.instructions.empty())
    out.others = others_of(candidates, bounded, candidates.front().program.instruction);
  for (Candidate& c : candidates) {
    if (static_cast<int>(out.best.size()) >= keep) break;
    if (rescore(c, problem, target, m, before, where, why))
      out.best.push_back(std::move(c));
    else
      ++out.pruned;
  }
  if (out.best.empty()) {
    Bounded scalar = times.bound(build(space, scalar_choice(space)));
    if (!keeps_groups(problem, scalar.program))
      return error(scalar.program.name + ": no program has " + std::to_string(problem.waves) +
                   " waves in such groups");
    Candidate fallback{{}, times.estimate(scalar)};
    fallback.program = std::move(scalar.program);
    if (!rescore(fallback, problem, target, m, before, where, why)) return why;
    out.best.push_back(std::move(fallback));
  }
  std::stable_sort(out.best.begin(), out.best.end(), faster);
  prefer_own(out.best, m);
  return out;
}

}  // namespace assay::compiler
