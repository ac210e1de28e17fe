// Einsum: every letter is an axis; letters that the result lacks are summed over. More than two
// operands are contracted from the left, each step summing over what nothing later needs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/import/indexing.h"
#include "compiler/import/operators.h"

namespace assay::import {
namespace {

// The labels of a tensor's dimensions. The dimensions of an ellipsis are '0', '1', ... counted
// from the right, so that they align as in broadcasting.
struct Labelled {
  int tensor = -1;
  std::string labels;
};

struct Equation {
  std::vector<std::string> terms;
  std::string result;
  bool explicit_result = false;
};

Equation parse_equation(const std::string& text) {
  Equation e;
  std::string plain;
  for (char ch : text)
    if (!std::isspace(static_cast<unsigned char>(ch))) plain += ch;
  const size_t arrow = plain.find("->");
  e.explicit_result = arrow != std::string::npos;
  if (e.explicit_result) e.result = plain.substr(arrow + 2);
  plain = plain.substr(0, arrow) + ",";
  for (size_t at = 0; at < plain.size();) {
    const size_t end = plain.find(',', at);
    e.terms.push_back(plain.substr(at, end - at));
    at = end + 1;
  }
  return e;
}

// `rank`: dimensions of the operand; of the ellipsis in all operands for the result.
std::string labels_of(const std::string& term, size_t behind_ellipsis) {
  const size_t dots = term.find("...");
  std::string labels = term;
  if (dots != std::string::npos) {
    std::string numbered;
    for (size_t i = behind_ellipsis; i-- > 0;) numbered += static_cast<char>('0' + i);
    labels = term.substr(0, dots) + numbered + term.substr(dots + 3);
  }
  for (char label : labels)
    if (!std::isalnum(static_cast<unsigned char>(label)))
      refuse(fmt::format("the term {} is not understood", term));
  return labels;
}

size_t ellipsis_rank(const std::string& term, size_t rank) {
  const bool has = term.find("...") != std::string::npos;
  const size_t letters = term.size() - (has ? 3 : 0);
  if (letters > rank || (!has && letters != rank) || rank - letters > 9)
    refuse(fmt::format("the term {} is for another rank than {}", term, rank));
  return rank - letters;
}

// The letters that occur once, in alphabetical order, after the ellipsis.
std::string implicit_result(const Equation& e) {
  std::string all, result;
  for (const std::string& term : e.terms) all += term;
  for (char label = 'A'; label <= 'z'; ++label)
    if (std::isalpha(static_cast<unsigned char>(label)) &&
        std::count(all.begin(), all.end(), label) == 1)
      result += label;
  return (all.find('.') != std::string::npos ? "..." : "") + result;
}

class Contraction {  // invariant: extents_ holds the largest extent met per label
 public:
  explicit Contraction(Context& c) : c_(c) {}

  void add(const Labelled& operand) {
    const Shape& shape = c_.shape(operand.tensor);
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t& extent = extents_.try_emplace(operand.labels[d], 1).first->second;
      if (extent != 1 && shape[d] != 1 && extent != shape[d])
        refuse(fmt::format("label {} has extents {} and {}", operand.labels[d], extent, shape[d]));
      extent = std::max(extent, shape[d]);
    }
  }

  bool knows(char label) const { return extents_.contains(label); }

  // The product of the operands, summed over the labels that `result` lacks.
  Labelled contract(const std::vector<Labelled>& operands, const std::string& result, bool last) {
    std::string labels = result;
    for (const Labelled& o : operands)
      for (char label : o.labels)
        if (labels.find(label) == std::string::npos) labels += label;
    Expression e;
    const bool sums = labels.size() > result.size();
    e.op = operands.size() == 2 && sums ? "matmul"
           : sums                       ? "reduce_sum"
           : operands.size() == 2       ? "mul"
                                        : "transpose";
    e.suffix = last ? "" : "product";
    e.combine = sums ? ir::Combiner::sum : ir::Combiner::none;
    for (size_t i = 0; i < labels.size(); ++i)
      (i < result.size() ? e.spatial : e.reduce)
          .push_back({std::string("l") + labels[i], extents_.at(labels[i])});
    for (size_t i = 0; i < operands.size(); ++i) {
      const Shape& shape = c_.shape(operands[i].tensor);
      std::vector<ir::Index> at;
      for (size_t d = 0; d < shape.size(); ++d)
        at.push_back(shape[d] == 1
                         ? ir::constant(0)
                         : ir::variable(static_cast<int>(labels.find(operands[i].labels[d]))));
      e.reads.push_back(plain_read(operands[i].tensor, std::move(at)));
      e.body = i == 0 ? ir::read(0) : mul(std::move(e.body), ir::read(static_cast<int>(i)));
    }
    return {c_.emit(std::move(e)), result};
  }

 private:
  Context& c_;
  std::map<char, int64_t> extents_;
};

}  // namespace

void import_einsum(Context& c) {
  Equation e = parse_equation(c.string_attribute("equation", ""));
  if (static_cast<int>(e.terms.size()) != c.input_count())
    refuse(fmt::format("the equation has {} terms, there are {} operands", e.terms.size(),
                       c.input_count()));
  Contraction contraction(c);
  std::vector<Labelled> operands;
  size_t behind = 0;
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const int tensor = c.input(static_cast<int>(i));
    const size_t rank = ellipsis_rank(e.terms[i], c.shape(tensor).size());
    behind = std::max(behind, rank);
    operands.push_back({tensor, labels_of(e.terms[i], rank)});
    contraction.add(operands.back());
  }
  const std::string result = labels_of(e.explicit_result ? e.result : implicit_result(e), behind);
  for (size_t i = 0; i < result.size(); ++i)
    if (!contraction.knows(result[i]) || result.find(result[i]) != i)
      refuse(fmt::format("the result {} is not understood", e.result));
  Labelled sum = operands[0];
  for (size_t i = 1; i + 1 < operands.size(); ++i) {
    std::string later = result, kept;
    for (size_t k = i + 1; k < operands.size(); ++k) later += operands[k].labels;
    for (char label : sum.labels + operands[i].labels)
      if (later.find(label) != std::string::npos && kept.find(label) == std::string::npos)
        kept += label;
    sum = contraction.contract({sum, operands[i]}, kept, false);
  }
  std::vector<Labelled> last = {sum};
  if (operands.size() > 1) last.push_back(operands.back());
  c.bind(0, contraction.contract(last, result, true).tensor);
}

}  // namespace assay::import
