#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "compiler/library/launches.h"
#include "compiler/library/library.h"
#include "hwdesc/print.h"
#include "support/hash.h"
#include "toolkit/factors.h"
#include "toolkit/profiles.h"

namespace assay::toolkit {
namespace {

using compiler::Factors;
using compiler::kFactorNames;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr size_t kFolds = 5;
constexpr size_t kFewestRows = 20;    // of a class
constexpr size_t kFittedRows = 1000;  // of many, evenly taken
constexpr double kStep = 0.05;        // of a derivative, ln of a factor
constexpr double kLarge = 0.1;        // residual whose weight begins to fall
constexpr double kPrior = 0.5;        // standard deviation of a factor before, ln
constexpr double kTold = 0.1;         // standard error of a factor that is told, ln
constexpr int kSteps = 10;

struct Row {
  size_t position = 0;  // in the file
  std::string_view kind;
  double measured = 0;
  std::vector<std::vector<compiler::Launches>> operators;  // their candidates
};

// Seconds of a row's cheapest candidates.
double seconds_of(const Row& row, const model::Machine& chip, double launch, model::Caches caches) {
  double sum = 0;
  for (const std::vector<compiler::Launches>& candidates : row.operators) {
    double least = std::numeric_limits<double>::infinity();
    for (const compiler::Launches& l : candidates) {
      double all = 0;
      for (const model::LaunchWork& w : l) all += model::price(w, chip, caches).seconds + launch;
      least = std::min(least, all);
    }
    sum += least;
  }
  return sum;
}

// Rows of one class with what they are priced on.
class Fit {
 public:
  Fit(const LibraryInputs& inputs, std::vector<const Row*> rows)
      : inputs_(inputs), rows_(std::move(rows)) {}

  // Over `told`, from no factors on.
  Factors solve(const std::vector<size_t>& told) const {
    Factors f = compiler::kNoFactors;
    for (int i = 0; i < kSteps; ++i) {
      const Linear at = linear(f, told);
      const VectorXd step = at.weighted.colPivHouseholderQr().solve(-at.weighted_residuals);
      double most = 0;
      for (size_t k = 0; k < told.size(); ++k) {
        const double by = std::clamp(step[static_cast<Eigen::Index>(k)], -0.5, 0.5);
        f[told[k]] *= std::exp(by);
        most = std::max(most, std::abs(by));
      }
      if (most < 1e-3) break;
    }
    return f;
  }

  // Factors that the rows tell; the others, with why. The least known goes first, and what it hid
  // is looked at again.
  std::vector<size_t> told(std::vector<std::string>& not_told) const {
    std::vector<size_t> out;
    for (size_t k = 0; k < kFactorNames.size(); ++k) out.push_back(k);
    while (!out.empty()) {
      // How the estimates move before anything is corrected, beside what no factor explains.
      const Linear at = linear(compiler::kNoFactors, out);
      const VectorXd errors = standard_errors(at, linear(solve(out), out).spread);
      Eigen::Index worst = 0;
      if (errors.maxCoeff(&worst) <= kTold) break;
      const size_t gone = out[static_cast<size_t>(worst)];
      not_told.push_back(fmt::format("{}: {}", kFactorNames[gone], why(at, worst, out)));
      out.erase(out.begin() + worst);
    }
    return out;
  }

 private:
  struct Linear {  // of ln(estimate / measured) around some factors
    MatrixXd weighted;
    VectorXd weighted_residuals, residuals;
    double spread = 0;
  };

  VectorXd logs(const Factors& f) const {
    const model::Machine chip = compiler::scaled(inputs_.chip, f);
    const double launch = inputs_.launch * f[static_cast<size_t>(compiler::Factor::launch)];
    VectorXd out(static_cast<Eigen::Index>(rows_.size()));
    for (size_t i = 0; i < rows_.size(); ++i)
      out[static_cast<Eigen::Index>(i)] =
          std::log(seconds_of(*rows_[i], chip, launch, inputs_.caches) / rows_[i]->measured);
    return out;
  }

  Linear linear(const Factors& f, const std::vector<size_t>& told) const {
    Linear out;
    out.residuals = logs(f);
    MatrixXd j(out.residuals.size(), static_cast<Eigen::Index>(told.size()));
    for (size_t k = 0; k < told.size(); ++k) {
      Factors beside = f;
      beside[told[k]] *= std::exp(kStep);
      j.col(static_cast<Eigen::Index>(k)) = (logs(beside) - out.residuals) / kStep;
    }
    const VectorXd roots = out.residuals.cwiseAbs().unaryExpr(
        [](double r) { return std::sqrt(std::min(1.0, kLarge / std::max(r, 1e-12))); });
    const Eigen::Index n = j.rows(), factors = j.cols();
    const VectorXd weighted = roots.asDiagonal() * out.residuals;
    out.spread = std::sqrt(weighted.squaredNorm() / static_cast<double>(n));
    // The prior stands as rows of its own.
    out.weighted = MatrixXd::Zero(n + factors, factors);
    out.weighted_residuals = VectorXd::Zero(n + factors);
    out.weighted.topRows(n) = roots.asDiagonal() * j;
    out.weighted_residuals.head(n) = weighted;
    for (Eigen::Index k = 0; k < factors; ++k) {
      out.weighted(n + k, k) = out.spread / kPrior;
      out.weighted_residuals[n + k] =
          std::log(f[told[static_cast<size_t>(k)]]) * out.spread / kPrior;
    }
    return out;
  }

  static VectorXd standard_errors(const Linear& at, double spread) {
    const Eigen::Index factors = at.weighted.cols();
    const MatrixXd j = at.weighted.topRows(at.weighted.rows() - factors);
    const MatrixXd information = j.transpose() * j / std::max(spread * spread, 1e-12) +
                                 MatrixXd::Identity(factors, factors) / (kPrior * kPrior);
    return information.inverse().diagonal().cwiseSqrt();
  }

  static std::string why(const Linear& at, Eigen::Index which, const std::vector<size_t>& told) {
    const VectorXd own = at.weighted.col(which);
    if (own.norm() < 1e-3 * std::sqrt(static_cast<double>(own.size())))
      return "no estimate depends on it";
    for (Eigen::Index k = 0; k < at.weighted.cols(); ++k) {
      const VectorXd other = at.weighted.col(k);
      if (k != which && std::abs(own.dot(other)) > 0.95 * own.norm() * other.norm())
        return fmt::format("moves the estimates as {} does",
                           kFactorNames[told[static_cast<size_t>(k)]]);
    }
    return "its standard error is above a tenth";
  }

  const LibraryInputs& inputs_;
  const std::vector<const Row*> rows_;
};

std::vector<const Row*> some_of(const std::vector<const Row*>& rows) {
  if (rows.size() <= kFittedRows) return rows;
  std::vector<const Row*> out;
  for (size_t i = 0; i < kFittedRows; ++i) out.push_back(rows[i * rows.size() / kFittedRows]);
  return out;
}

class Measured {
 public:
  Diags read(const hwdesc::Profile& profile, const EstimateOptions& options,
             const std::vector<ReferenceRow>& rows, Diags& notes) {
    const Result<hwdesc::Target> target = target_of(profile, options.api);
    if (!target) return target.diags();
    Result<LibraryInputs> inputs = library_inputs(profile, *target, options);
    if (!inputs) return inputs.diags();
    inputs_ = std::move(*inputs);
    std::set<std::string> said;
    for (size_t i = 0; i < rows.size(); ++i)
      if (const auto why = add(i, rows[i]); why && said.insert(why->message).second)
        notes.push_back(*why);
    return {};
  }

  std::vector<std::string_view> kinds() const {
    std::set<std::string_view> out;
    for (const Row& r : rows_) out.insert(r.kind);
    return {out.begin(), out.end()};
  }

  std::vector<const Row*> of(std::string_view kind) const {
    std::vector<const Row*> out;
    for (const Row& r : rows_)
      if (r.kind == kind) out.push_back(&r);
    return out;
  }

  // With factors of the rows of other folds.
  std::vector<double> held_out(const std::vector<const Row*>& rows,
                               const std::vector<size_t>& told) const {
    std::vector<double> out(rows.size());
    for (size_t fold = 0; fold < kFolds; ++fold) {
      std::vector<const Row*> others;
      for (size_t i = 0; i < rows.size(); ++i)
        if (i % kFolds != fold) others.push_back(rows[i]);
      const Factors f = Fit(inputs_, some_of(others)).solve(told);
      const model::Machine chip = compiler::scaled(inputs_.chip, f);
      const double launch = inputs_.launch * f[static_cast<size_t>(compiler::Factor::launch)];
      for (size_t i = fold; i < rows.size(); i += kFolds)
        out[i] = seconds_of(*rows[i], chip, launch, inputs_.caches);
    }
    return out;
  }

  const LibraryInputs& inputs() const { return inputs_; }

 private:
  // Why the row is not estimated.
  std::optional<Diag> add(size_t position, const ReferenceRow& r) {
    const Result<ir::Graph> g = OperatorEstimator::graph_of(r.op, r.type);
    if (!g) return g.diags().front();
    Row row{position, "", r.seconds, {}};
    for (const compiler::LibraryOperator& o : compiler::library_operators(*g)) {
      row.kind = compiler::kind_of(o);
      row.operators.push_back(compiler::candidates(o, inputs_.catalogue, inputs_.chip));
      if (row.operators.back().empty())
        return error(std::string(ir::name_of(o.type)) + ": no entry of the catalogue computes it");
    }
    if (!row.operators.empty()) rows_.push_back(std::move(row));
    return std::nullopt;
  }

  LibraryInputs inputs_;
  std::vector<Row> rows_;
};

FittedKind fit_kind(const Measured& m, std::string_view kind) {
  FittedKind out;
  const std::vector<const Row*> rows = m.of(kind);
  const Fit fit(m.inputs(), some_of(rows));
  const std::vector<size_t> told = fit.told(out.not_told);
  out.factors.kind = kind;
  out.factors.factors = fit.solve(told);
  out.rows = static_cast<int64_t>(rows.size());
  const std::vector<double> held = m.held_out(rows, told);
  std::vector<double> ratios;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double plain =
        seconds_of(*rows[i], m.inputs().chip, m.inputs().launch, m.inputs().caches);
    out.before += std::abs(plain / rows[i]->measured - 1) / static_cast<double>(rows.size());
    out.after += std::abs(held[i] / rows[i]->measured - 1) / static_cast<double>(rows.size());
    ratios.push_back(rows[i]->measured / held[i]);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double part) {
    return ratios[static_cast<size_t>(part * static_cast<double>(ratios.size() - 1))];
  };
  out.factors.low = std::min(1.0, at(0.05));
  out.factors.high = std::max(1.0, at(0.95));
  return out;
}

}  // namespace

Result<FittedFactors> fit_factors(const hwdesc::Profile& profile, const EstimateOptions& options,
                                  const std::vector<ReferenceRow>& rows, Diags& notes) {
  Measured m;
  if (const Diags wrong = m.read(profile, options, rows, notes); !wrong.empty()) return wrong;
  FittedFactors out;
  out.name = profile.name;
  out.profile = hwdesc::hash_of(profile);
  out.launch = options.launch.value_or("stream");
  out.caches = options.warm.value_or(false) ? "warm" : "cold";
  std::string text;
  for (const ReferenceRow& r : rows) text += fmt::format("{},{},{}\n", r.op, r.type, r.seconds);
  out.data = hash_hex(text);
  for (const std::string_view kind : m.kinds()) {
    const size_t n = m.of(kind).size();
    if (n >= kFewestRows) {
      out.kinds.push_back(fit_kind(m, kind));
      continue;
    }
    Diag d =
        error(fmt::format("{} rows of class {}: {} are needed for factors", n, kind, kFewestRows));
    d.severity = Severity::note;
    notes.push_back(std::move(d));
  }
  if (out.kinds.empty())
    return error(
        fmt::format("no class of operators has {} rows that can be estimated", kFewestRows),
        "products, rows (softmax, normalisations, reductions) and pointwise are classes");
  return out;
}

Result<std::vector<double>> held_out(const hwdesc::Profile& profile, const EstimateOptions& options,
                                     const std::vector<ReferenceRow>& rows) {
  Measured m;
  Diags notes;
  if (const Diags wrong = m.read(profile, options, rows, notes); !wrong.empty()) return wrong;
  std::vector<double> out(rows.size(), 0);
  for (const std::string_view kind : m.kinds()) {
    const std::vector<const Row*> of_kind = m.of(kind);
    std::vector<std::string> not_told;
    const std::vector<double> held =
        m.held_out(of_kind, Fit(m.inputs(), some_of(of_kind)).told(not_told));
    for (size_t i = 0; i < of_kind.size(); ++i) out[of_kind[i]->position] = held[i];
  }
  return out;
}

}  // namespace assay::toolkit
