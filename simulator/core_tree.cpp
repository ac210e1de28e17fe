#include "simulator/core_tree.h"

#include <algorithm>
#include <utility>

namespace assay::simulator {
namespace {

using model::join;
using model::leaf;
using model::Part;
using Joins = Part::Joins;

// The leaf with another time: a part of its own.
Part with(Part of, double seconds) {
  of.seconds = seconds;
  return of;
}

class CoreTree {
 public:
  CoreTree(const UnitCost& c, double serialisation, const CoreLeaves& leaves,
           const std::vector<LineTime>& lines)
      : c_(c), serialisation_(serialisation), leaves_(leaves), lines_(lines) {}

  Part run() const {
    return join("busiest unit", Joins::sum,
                {computing(), copying(), waits(), with(leaves_.contention, c_.contention)});
  }

 private:
  Part ports(double vector, double load, double store) const {
    return join("ports", Joins::longest,
                {with(leaves_.vector, vector), with(leaves_.load, load), with(leaves_.store, store),
                 leaf("loads and stores in turn",
                      load > 0 && store > 0 ? serialisation_ * (load + store) : 0)});
  }

  // Lines that are not waited for. `copies`: of staged operands.
  Part beside(bool copies) const {
    const double all = copies ? c_.copied_transfers : c_.transfers - c_.copied_transfers,
                 waited_by_all = c_.private_non_overlap + c_.shared_non_overlap,
                 waited = copies ? c_.copied_non_overlap : waited_by_all - c_.copied_non_overlap;
    if (all <= waited) return leaf("", 0);
    std::vector<Part> parts;
    for (const LineTime& l : lines_)
      parts.push_back(leaf(l.name, (copies ? l.copied : 1 - l.copied) * l.all, l.detail, l.basis));
    parts.push_back(leaf("less what is waited for", -waited));
    return join("lines", Joins::sum, std::move(parts));
  }

  Part computing() const {
    return join("computing", Joins::overlap,
                {ports(c_.vector, c_.load - c_.copied_load, c_.store - c_.copied_store),
                 with(leaves_.issue, c_.issue - c_.copied_issue), with(leaves_.chain, c_.chain),
                 join("conflicts and translation", Joins::sum,
                      {with(leaves_.tlb, c_.tlb), with(leaves_.set_conflicts, c_.set_conflicts)}),
                 beside(false)});
  }

  Part copying() const {
    return join("copies before", Joins::overlap,
                {ports(0, c_.copied_load, c_.copied_store), with(leaves_.issue, c_.copied_issue),
                 with(leaves_.set_conflicts, c_.copied_set_conflicts), beside(true)});
  }

  Part waits() const {
    std::vector<Part> own, shared;
    for (const LineTime& l : lines_)
      (l.shared ? shared : own).push_back(leaf(l.name, l.waited, l.detail, l.basis));
    own.push_back(
        join("shared memories", Joins::longest,
             {join("lines waited for", Joins::sum, std::move(shared)), leaves_.page_walks}));
    return join("waited for", Joins::sum, std::move(own));
  }

  const UnitCost& c_;
  const double serialisation_;
  const CoreLeaves& leaves_;
  const std::vector<LineTime>& lines_;
};

}  // namespace

Part core_tree(const UnitCost& cost, double serialisation, const CoreLeaves& leaves,
               const std::vector<LineTime>& lines) {
  return CoreTree(cost, serialisation, leaves, lines).run();
}

}  // namespace assay::simulator
