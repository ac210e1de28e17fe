#include "compiler/search/construct.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "compiler/search/space.h"
#include "lower/count.h"
#include "lower/legal.h"
#include "lower/lower.h"

namespace assay::compiler {

namespace {

// Of a whole program, or of a tile where groups are given.
model::Estimate estimate_of(const Problem& problem, const ir::Program& p, const model::Machine& m,
                            const simulator::CacheState& before,
                            std::span<const simulator::Range> where) {
  if (problem.group.empty())
    return simulator::estimate(p, m, before, where, nullptr, simulator::TermDetail::none);
  return m.simt ? simulator::estimate_member(p, m, before, where, problem.on_chip)
                : simulator::estimate_tile(p, problem.group, m);
}

// Exact counts when the program lowers; without a known dialect the closed form stands.
bool rescore(Candidate& c, const Problem& problem, const hwdesc::Target& target,
             const model::Machine& m, const simulator::CacheState& before,
             std::span<const simulator::Range> where, Diags& why) {
  if (!c.program.workers.empty() && !target.dialect.known) return true;  // predicted only
  if (!problem.group.empty()) {  // counted with the programs that share its groups
    why = lower::legal(c.program, target);
    if (why.empty()) c.estimate = estimate_of(problem, c.program, m, before, where);
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

// Estimates of all programs that may be among the `keep` fastest. Those whose lower bound exceeds
// that many estimates are not.
std::vector<Candidate> fastest(const Problem& problem,
                               std::vector<std::pair<double, ir::Program>>& bounded,
                               const model::Machine& m, const simulator::CacheState& before,
                               std::span<const simulator::Range> where, int keep) {
  std::stable_sort(bounded.begin(), bounded.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Candidate> out;
  std::priority_queue<double> best;
  for (auto& [least, program] : bounded) {
    if (static_cast<int>(best.size()) >= keep && least > best.top()) break;
    model::Estimate e = estimate_of(problem, program, m, before, where);
    best.push(e.seconds);
    if (static_cast<int>(best.size()) > keep) best.pop();
    out.push_back({std::move(program), std::move(e)});
  }
  return out;
}

using Fastest = std::map<std::string, Alternative>;

void note(Fastest& to, const std::string& instruction, double seconds, bool at_least) {
  const auto [found, fresh] =
      to.try_emplace(instruction, Alternative{instruction, seconds, at_least});
  if (!fresh && seconds < found->second.seconds) found->second = {instruction, seconds, at_least};
}

// Per instruction; those of the best candidate are left out.
std::vector<Alternative> others_of(const std::vector<Candidate>& estimated,
                                   const std::vector<std::pair<double, ir::Program>>& bounded,
                                   const std::string& chosen) {
  Fastest all;
  for (const Candidate& c : estimated) note(all, c.program.instruction, c.estimate.seconds, false);
  for (size_t i = estimated.size(); i < bounded.size(); ++i)
    if (!all.contains(bounded[i].second.instruction))
      note(all, bounded[i].second.instruction, bounded[i].first, true);
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

Result<Constructed> construct(const Problem& problem, const hwdesc::Target& target,
                              const model::Machine& m, const simulator::CacheState& before,
                              std::span<const simulator::Range> where, int keep) {
  const Space space(problem, m);
  Constructed out;
  std::vector<std::pair<double, ir::Program>> bounded;
  Diags why;
  for (const Choice& c : choices_for(space, target.dialect.known)) {
    Candidate candidate{build(space, c), {}};
    if (spills(candidate.program, m) || !keeps_groups(problem, candidate.program)) {
      ++out.pruned;
      continue;
    }
    const bool printed = target.dialect.known || candidate.program.workers.empty();
    if (Diags over = printed ? lower::over_limits(candidate.program, target)
                             : lower::unpriceable(candidate.program, target);
        !over.empty()) {
      why = std::move(over);
      ++out.pruned;
      continue;
    }
    const double least = simulator::at_least(candidate.program, m, problem.on_chip);
    bounded.emplace_back(least, std::move(candidate.program));
  }
  std::vector<Candidate> candidates = fastest(problem, bounded, m, before, where, keep);
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
    Candidate fallback{build(space, scalar_choice(space)), {}};
    if (!keeps_groups(problem, fallback.program))
      return error(fallback.program.name + ": no program has " + std::to_string(problem.waves) +
                   " waves in such groups");
    if (!rescore(fallback, problem, target, m, before, where, why)) return why;
    out.best.push_back(std::move(fallback));
  }
  std::stable_sort(out.best.begin(), out.best.end(), faster);
  prefer_own(out.best, m);
  return out;
}

}  // namespace assay::compiler
