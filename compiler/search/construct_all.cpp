#include "compiler/search/construct_all.h"

#include <map>
#include <string>
#include <utility>

#include "compiler/search/storage.h"

namespace assay::compiler {

namespace {

constexpr double kWarm = 0.99;  // of the time with empty caches

class Constructor {  // invariant: refers to the parts of one compilation, which outlive it
 public:
  Constructor(const TileGraphs& graphs, const hwdesc::Target& target, const model::Machine& machine,
              const Options& options)
      : parts_(graphs.parts), target_(target), machine_(machine), options_(options) {
    const std::vector<simulator::Range> ranges = ranges_of(graphs);
    for (const TileGraph& part : parts_) {
      std::vector<simulator::Range>& where = where_.emplace_back();  // the chain's tensors
      for (int t : part.chain.tensors) where.push_back(ranges[static_cast<size_t>(t)]);
    }
  }

  Result<Programs> run() {
    if (Diags diags = construct_each(true); !diags.empty()) return diags;
    if (!parts_.empty() && begins_warm())
      if (Diags diags = construct_each(false); !diags.empty()) return diags;
    return std::move(out_);
  }

 private:
  Diags construct_each(bool first) {
    std::map<std::string, Constructed> known;
    out_ = {};
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (options_.cancel != nullptr && *options_.cancel)
        return {error("compilation was interrupted")};
      const auto& [name, chain, problem] = parts_[i];
      if (first && options_.progress)
        options_.progress(static_cast<int>(i), static_cast<int>(parts_.size()), name);
      const std::string key = key_of(problem);
      auto found = known.find(key);
      if (found == known.end()) {
        Result<Constructed> made =
            construct(problem, target_, machine_, caches_, where_[i], options_.keep, options_.each);
        if (!made.ok()) {
          Diags diags = made.diags();
          diags.insert(diags.begin(), error("no program can compute node " + name + " (" +
                                            problem.graph.nodes[0].op + ")"));
          return diags;
        }
        out_.evaluated += made->evaluated;
        out_.pruned += made->pruned;
        found = known.emplace(key, std::move(*made)).first;
      }
      const auto& [program, estimate] = found->second.best.front();
      out_.chosen.push_back(program);
      out_.lost.emplace_back();
      for (const Alternative& a : found->second.others) out_.lost.back().push_back(print(a));
      caches_ = simulator::after(out_.chosen.back(), machine_, std::move(caches_), where_[i]);
      simulator::pass_time(caches_, estimate.seconds);
    }
    return {};
  }

  bool begins_warm() const {
    const auto seconds = [&](const simulator::CacheState& before) {
      return simulator::estimate(out_.chosen[0], machine_, before, where_[0]).seconds;
    };
    return seconds(caches_) < kWarm * seconds({});
  }

  const std::vector<TileGraph>& parts_;
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  const Options& options_;
  std::vector<std::vector<simulator::Range>> where_;
  Programs out_;
  simulator::CacheState caches_;
};

}  // namespace

Result<Programs> construct_all(const TileGraphs& graphs, const hwdesc::Target& target,
                               const model::Machine& machine, const Options& options) {
  return Constructor(graphs, target, machine, options).run();
}

}  // namespace assay::compiler
