// Estimates of operators and models on a profile: by what a vendor's library would run, or by the
// programs that Assay would generate. Nothing is compiled and no device is touched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/library/catalogue.h"
#include "compiler/library/factors.h"
#include "hwdesc/profile.h"
#include "hwdesc/target.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "model/estimate.h"
#include "model/price.h"
#include "support/result.h"

namespace assay::toolkit {

enum class Software { library, assay };

struct EstimateOptions {
  std::string api;                   // of the profile; "": its first
  std::optional<Software> software;  // none: `assay` where the profile's api has kernels
  // Of a library. How launches are issued: eager, stream or graph of the profile, or a time such as
  // `5us`; none: stream.
  std::optional<std::string> launch;
  std::optional<bool> warm;  // the caches hold the inputs; none: they do not
  // Factors that measurements on the chip showed, by class of operators (toolkit/factors.h).
  std::vector<compiler::KindFactors> factors;
  std::string scaled;  // field that the profile does not know, whose assumption is
  double factor = 1;   // multiplied by this
};

struct OperatorEstimate {
  std::string label;  // of the operator and its shape
  std::string type;   // of its inputs
  std::string entry;  // what would run
  std::string kind;   // of a library's kernel: product, rows, pointwise
  model::Estimate estimate;
  std::vector<std::string> lost;  // the next best candidates
  std::string mapping;            // of its matrix instruction: mapping_of in simulate.h
};

struct GraphEstimate {
  std::vector<OperatorEstimate> operators;
  model::Estimate total;
  Software software = Software::library;
  std::string why_not_printable;         // "": kernels of it can be printed
  std::shared_ptr<const ir::Plan> plan;  // of assay's own programs
  Diags notes;
};

// What candidates of a library are priced with.
struct LibraryInputs {
  compiler::Catalogue catalogue;
  model::Machine chip;
  double launch = 0;  // s
  model::Caches caches = model::Caches::cold;
};

// Errors: those of OperatorEstimator::open.
Result<LibraryInputs> library_inputs(const hwdesc::Profile& profile, const hwdesc::Target& target,
                                     const EstimateOptions& options);

// A profile, prepared once for thousands of estimates.
class OperatorEstimator {
 public:
  // Errors: a profile without what predicting needs; an unknown api; a launch that the profile does
  // not know; launches or caches of assay's own programs, whose plans say them.
  static Result<OperatorEstimator> open(const hwdesc::Profile& profile,
                                        const EstimateOptions& options);
  OperatorEstimator(OperatorEstimator&&) noexcept;
  OperatorEstimator& operator=(OperatorEstimator&&) noexcept;
  ~OperatorEstimator();

  // Of assay's own programs, one operator after the other: `compile` runs them side by side.
  // Errors: an operator that no program of the chosen software computes.
  Result<GraphEstimate> estimate(const ir::Graph& graph) const;
  // By the entries or programs of an earlier estimate, which may be of another profile. Errors: one
  // that does not run here.
  Result<GraphEstimate> estimate_as(const ir::Graph& graph, const GraphEstimate& earlier) const;
  // With all its f32 tensors in another type; "": as it is.
  Result<GraphEstimate> estimate_typed(ir::Graph graph, const std::string& type) const;
  // The graph of an operator's text. Errors: parse_operator's.
  static Result<ir::Graph> graph_of(const std::string& op, const std::string& type);
  // `matmul m=1000 n=777 k=513 type=bf16`. `type`: "" or that of every operator without its own.
  Result<GraphEstimate> estimate(const std::string& op, const std::string& type = "") const;

  // Of the whole chip, by its profile: operations per s on numbers of a type, 0 where it has none;
  // bytes per s of far memory.
  double peak_flops(const std::string& type) const;
  double bandwidth() const;

 private:
  struct State;
  explicit OperatorEstimator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::toolkit
