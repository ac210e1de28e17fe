#include "compiler/library/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "model/launch_tree.h"

namespace assay::compiler {
namespace {

using model::LaunchPrice;

constexpr size_t kLostShown = 3;

struct Priced {
  const Launches* launches = nullptr;
  std::vector<LaunchPrice> prices;
  double seconds = std::numeric_limits<double>::infinity();
};

// What all candidates of an operator are priced with.
struct Conditions {
  const model::Machine& chip;
  double launch = 0;
  model::Caches caches = model::Caches::cold;
};

Priced price_all(const Launches& launches, const Conditions& on) {
  Priced out{&launches, {}, 0};
  for (const model::LaunchWork& w : launches) {
    out.prices.push_back(model::price(w, on.chip, on.caches));
    out.seconds += out.prices.back().seconds + on.launch;
  }
  return out;
}

void add_terms(const model::LaunchWork& w, const LaunchPrice& p, model::Estimate& e) {
  const auto term = [&](const char* name, double seconds, std::string detail = "") {
    if (seconds > 0) e.terms.push_back({name, seconds, std::move(detail)});
  };
  term("start", p.start, "code, parameters, the last store; a translation of cold data");
  term("multiply-adds", p.unit.multiply_adds, w.products.instruction);
  term("operations", p.unit.other_operations);
  term("issue", p.unit.issue);
  term("scratchpad", p.unit.scratch);
  term("nearest cache", p.unit.near);
  term("waits", p.waits,
       fmt::format("{:.0f} groups, {:.0f} at once on a unit, {:.0f} rounds", w.groups, p.occupancy,
                   p.rounds));
  term("shared cache", p.shared_cache, fmt::format("{:.4g} MB", p.shared_bytes * 1e-6));
  term("far memory", p.far,
       fmt::format("{:.4g} MB read, {:.4g} MB written", p.far_read * 1e-6, p.far_written * 1e-6));
  term("power", p.power, "energy of operations and bytes, at the power left for them");
}

model::Estimate estimate_of(const LibraryOperator& o, const Priced& best, const Conditions& on,
                            const Residual& r) {
  const model::Machine& chip = on.chip;
  model::Estimate e;
  e.seconds = best.seconds;
  e.flops = o.flops;
  std::vector<model::Part> parts;
  for (size_t i = 0; i < best.prices.size(); ++i) {
    const model::LaunchWork& work = (*best.launches)[i];
    add_terms(work, best.prices[i], e);
    if (on.launch > 0) e.terms.push_back({"launch", on.launch, ""});
    parts.push_back(model::join(
        std::string(work.entry), model::Part::Joins::sum,
        {model::leaf("launch", on.launch), model::launch_tree(work, best.prices[i], chip)}));
  }
  e.tree = model::join("estimate", model::Part::Joins::sum, std::move(parts));
  const LaunchPrice& first = best.prices.front();
  e.bound = on.launch * static_cast<double>(best.prices.size()) > best.seconds / 2
                ? "launch"
                : model::bound_of(first);
  e.groups = best.launches->front().groups;
  e.rounds = first.rounds;
  e.occupancy = first.occupancy;
  const model::Level& far = chip.levels.back();
  e.levels.push_back({"", first.far_read, first.far_written, first.far, 0, true});
  e.levels.back().boundary = far.name;
  e.low = e.seconds * std::min(1.0, r.low);
  e.high = e.seconds * std::max(1.0, r.high);
  double rate = product_rate(chip, o.type, "");
  for (const model::MatrixRate& m : chip.instructions)
    if (m.instruction.a.number == o.type) rate = std::max(rate, m.multiply_adds.value);
  const double least = std::max(
      {o.kind == LibraryOperator::Kind::product && rate > 0 ? o.flops / 2 / (rate * chip.units) : 0,
       o.read / far.read.value + o.written / far.write.value});
  e.efficiency = least / e.seconds;
  for (const std::string& text : chip.assumptions)  // field: why
    e.assumed.push_back(text.substr(0, text.find(':')));
  return e;
}

const CalibratedKind* calibrated_of(const LibraryOptions& options, const LibraryOperator& o) {
  for (const CalibratedKind& c : options.calibrated)
    if (c.factors.kind == kind_of(o)) return &c;
  return nullptr;
}

// Why no candidate is left.
Diag refused(const LibraryOperator& o, const model::Machine& chip) {
  std::string hint = "multiply-adds of";
  for (const model::TypeRate& t : chip.types) hint += fmt::format(" {}", ir::name_of(t.type));
  for (const model::MatrixRate& r : chip.instructions) hint += ", " + r.instruction.name;
  for (const std::string& name : chip.undescribed)
    hint += fmt::format("; {} has no file in isa/", name);
  return error(fmt::format("{}: the catalogue has no {} of {} that {} could run", o.label,
                           o.kind == LibraryOperator::Kind::product ? "product" : "kernel",
                           ir::name_of(o.type), chip.profile),
               "the chip has " + hint);
}

}  // namespace

Result<std::vector<LibraryStep>> library_steps(const ir::Graph& g, const Catalogue& c,
                                               const model::Machine& chip,
                                               const LibraryOptions& options) {
  std::vector<LibraryStep> out;
  Diags diags;
  for (LibraryOperator& o : library_operators(g)) {
    const std::vector<Launches> all = candidates(o, c, chip);
    const size_t position = out.size() + diags.size();
    const std::string fixed =
        position < options.entries.size() ? options.entries[position] : std::string();
    std::vector<Priced> priced;
    const CalibratedKind* own = calibrated_of(options, o);
    const Conditions on =
        own == nullptr
            ? Conditions{chip, options.launch, options.caches}
            : Conditions{own->chip,
                         options.launch * own->factors.factors[static_cast<size_t>(Factor::launch)],
                         options.caches};
    for (const Launches& l : all) {
      if (!fixed.empty() && name_of(l) != fixed) continue;
      Priced p = price_all(l, on);
      if (p.seconds < std::numeric_limits<double>::infinity()) priced.push_back(std::move(p));
    }
    if (priced.empty()) {
      diags.push_back(fixed.empty()
                          ? refused(o, chip)
                          : error(o.label + ": `" + fixed + "` does not run on " + chip.profile));
      continue;
    }
    std::stable_sort(priced.begin(), priced.end(),
                     [](const Priced& a, const Priced& b) { return a.seconds < b.seconds; });
    LibraryStep step;
    step.entry = name_of(*priced.front().launches);
    const Residual spread =
        own == nullptr
            ? residual_of(options.residuals, kind_of(o), priced.front().seconds)
            : Residual{std::string(kind_of(o)), 0, own->factors.low, own->factors.high, 0};
    step.estimate = estimate_of(o, priced.front(), on, spread);
    for (size_t i = 1; i < std::min(priced.size(), kLostShown + 1); ++i)
      step.lost.push_back(
          fmt::format("{}: {:.4g} us", name_of(*priced[i].launches), priced[i].seconds * 1e6));
    step.operation = std::move(o);
    out.push_back(std::move(step));
  }
  if (!diags.empty()) return diags;
  return out;
}

}  // namespace assay::compiler
