#include "ir/text_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ir/limits.h"
#include "ir/text_index.h"
#include "support/quantity.h"

namespace assay::ir {
namespace {

struct Function {
  std::string_view name;
  ScalarOp op;
  int arity;
};

constexpr std::array<Function, 16> kFunctions = {{{"max", ScalarOp::max, 2},
                                                  {"min", ScalarOp::min, 2},
                                                  {"pow", ScalarOp::pow, 2},
                                                  {"neg", ScalarOp::neg, 1},
                                                  {"abs", ScalarOp::abs, 1},
                                                  {"exp", ScalarOp::exp, 1},
                                                  {"log", ScalarOp::log, 1},
                                                  {"sqrt", ScalarOp::sqrt, 1},
                                                  {"tanh", ScalarOp::tanh, 1},
                                                  {"erf", ScalarOp::erf, 1},
                                                  {"floor", ScalarOp::floor, 1},
                                                  {"ceil", ScalarOp::ceil, 1},
                                                  {"round", ScalarOp::round, 1},
                                                  {"less", ScalarOp::less, 2},
                                                  {"equal", ScalarOp::equal, 2},
                                                  {"select", ScalarOp::select, 3}}};

constexpr int kMaxOperations = 4096;  // of one body, in all

enum Level { kSum = 1, kProduct, kUnary, kPrimary };

struct Infix {
  char sign = 0;
  Level level = kPrimary;
};

Infix infix_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
      return {'+', kSum};
    case ScalarOp::sub:
      return {'-', kSum};
    case ScalarOp::mul:
      return {'*', kProduct};
    case ScalarOp::div:
      return {'/', kProduct};
    default:
      return {};
  }
}

bool is_minus(const Scalar& s) {  // spelled with a sign; of a number it would read as the number
  return s.op == ScalarOp::neg && s.args.size() == 1 && s.args[0].op != ScalarOp::constant;
}

class Speller {
 public:
  Speller(std::span<const std::string> axes, const std::function<std::string(int)>& operand)
      : axes_(axes), operand_(operand) {}

  std::string spell(const Scalar& s, int least) const {
    const Infix infix = infix_of(s.op);
    if (infix.sign != 0 && s.args.size() == 2) {
      std::string text = fmt::format("{} {} {}", spell(s.args[0], infix.level), infix.sign,
                                     spell(s.args[1], infix.level + 1));
      return infix.level < least ? "(" + text + ")" : text;
    }
    if (is_minus(s)) {
      std::string text = "-" + spell(s.args[0], kUnary);
      return kUnary < least ? "(" + text + ")" : text;
    }
    return primary(s);
  }

 private:
  std::string primary(const Scalar& s) const {
    if (s.op == ScalarOp::read) return operand_(s.operand);
    if (s.op == ScalarOp::constant) return spell_number(s.value);
    if (s.op == ScalarOp::axis) {
      const size_t i = static_cast<size_t>(s.operand);
      return i < axes_.size() ? spell_name(axes_[i]) : "'#'";
    }
    std::string text;
    for (const Function& f : kFunctions)
      if (f.op == s.op) text = f.name;
    for (size_t i = 0; i < s.args.size(); ++i) text += (i ? ", " : "(") + spell(s.args[i], kSum);
    return text + ")";
  }

  static std::string spell_number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    return print_number(value);
  }

  std::span<const std::string> axes_;
  const std::function<std::string(int)>& operand_;
};

int add_read(std::vector<Read>& reads, Read r) {
  const auto found = std::find(reads.begin(), reads.end(), r);
  const auto i = static_cast<int>(found - reads.begin());
  if (found == reads.end()) reads.push_back(std::move(r));
  return i;
}

double parse_signed(Scanner& s) {
  const bool negative = s.accept('-');
  double value = 0;
  if (s.accept_word("inf"))
    value = std::numeric_limits<double>::infinity();
  else if (s.accept_word("nan"))
    value = std::numeric_limits<double>::quiet_NaN();
  else
    value = s.real();
  return negative ? -value : value;
}

class Parser {
 public:
  Parser(Scanner& scanner, const BodyNames& names, std::vector<Read>& reads)
      : s_(scanner), names_(names), reads_(reads) {}

  Scalar sum() {
    Deeper deeper(*this);
    Scalar left = product();
    while (true) {
      const bool plus = s_.peek() == '+';
      if (!s_.accept('+') && !s_.accept('-')) return left;
      left = make(plus ? ScalarOp::add : ScalarOp::sub, {std::move(left), product()});
    }
  }

 private:
  struct Deeper {  // counts nested expressions while it lives
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxBodyDepth) parser.s_.fail("the body is nested too deeply");
    }
    ~Deeper() { --parser.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser;
  };

  Scalar make(ScalarOp op, std::vector<Scalar> args) {
    if (++operations_ > kMaxOperations) s_.fail("the body has too many operations");
    return apply(op, std::move(args));
  }

  Scalar product() {
    Scalar left = unary();
    while (true) {
      const bool times = s_.peek() == '*';
      if (!s_.accept('*') && !s_.accept('/')) return left;
      left = make(times ? ScalarOp::mul : ScalarOp::div, {std::move(left), unary()});
    }
  }

  bool at_number() {
    if (s_.at_integer() || s_.peek() == '.') return true;
    Scanner ahead = s_;
    return ahead.accept_word("inf") || ahead.accept_word("nan");
  }

  Scalar unary() {
    Deeper deeper(*this);
    if (!s_.accept('-')) return primary();
    if (at_number()) return number(-parse_signed(s_));
    return make(ScalarOp::neg, {unary()});
  }

  Scalar primary() {
    if (at_number()) return number(parse_signed(s_));
    if (s_.accept('(')) {
      Scalar inside = sum();
      s_.expect(')');
      return inside;
    }
    if (s_.accept('$')) return numbered();
    s_.peek();
    const Scanner start = s_;
    const std::string name = s_.name();
    if (s_.peek() == '(') return call(start, name);
    if (s_.peek() == '[') return operand(start);
    Scalar value = apply(ScalarOp::axis, {});
    value.operand = find_name(s_, start.at(), "axis", name, names_.axes);
    return value;
  }

  Scalar numbered() {
    const size_t at = s_.at();
    const int64_t i = s_.integer();
    if (i >= static_cast<int64_t>(reads_.size()))
      s_.fail_at(at, fmt::format("there is no read {}", i),
                 fmt::format("the list of reads has {}", reads_.size()));
    return read(static_cast<int>(i));
  }

  Scalar operand(const Scanner& start) {
    s_ = start;
    Read r = parse_read(s_, names_, reads_);
    return read(add_read(reads_, std::move(r)));
  }

  Scalar call(const Scanner& start, const std::string& name) {
    std::vector<std::string> names;
    for (const Function& f : kFunctions) names.emplace_back(f.name);
    const Function& f =
        kFunctions[static_cast<size_t>(find_name(s_, start.at(), "function", name, names))];
    std::vector<Scalar> args;
    s_.expect('(');
    for (int i = 0; i < f.arity; ++i) {
      if (i > 0) s_.expect(',');
      args.push_back(sum());
    }
    s_.expect(')');
    return make(f.op, std::move(args));
  }

  Scanner& s_;
  const BodyNames& names_;
  std::vector<Read>& reads_;
  int depth_ = 0, operations_ = 0;
};

// Appends operands in the order of the text; a lookup's position comes before it.
void collect(const Node& n, const Scalar& s, std::vector<int>& operands) {
  if (s.op == ScalarOp::read) {
    const auto i = static_cast<size_t>(s.operand);
    if (i < n.reads.size() && n.reads[i].lookup) operands.push_back(n.reads[i].lookup->read);
    operands.push_back(s.operand);
  }
  for (const Scalar& arg : s.args) collect(n, arg, operands);
}

// Is this a read rather than an index over axes?
bool at_lookup(const Scanner& s) {
  Scanner ahead = s;
  if (ahead.peek() == '$') return true;
  if (!ahead.at_name()) return false;
  ahead.name();
  return ahead.peek() == '[';
}

Read parse_read(Scanner& s, const BodyNames& names, std::vector<Read>& reads, bool nested);

int parse_lookup(Scanner& s, const BodyNames& names, std::vector<Read>& reads) {
  if (s.accept('$')) return static_cast<int>(std::min<int64_t>(s.integer(), INT32_MAX));
  return add_read(reads, parse_read(s, names, reads, true));
}

}  // namespace

std::string spell_read(const Read& r, const BodyNames& names, std::span<const Read> all) {
  const size_t id = static_cast<size_t>(r.tensor);
  std::string text = id < names.tensors.size() ? spell_name(names.tensors[id]) : "'#'";
  text += '[';
  for (size_t d = 0; d < r.index.size(); ++d) {
    text += d ? ", " : "";
    if (!r.lookup || r.lookup->dim != static_cast<int>(d))
      text += spell_index(r.index[d], names.axes);
    else if (static_cast<size_t>(r.lookup->read) < all.size())
      text += spell_read(all[static_cast<size_t>(r.lookup->read)], names);
    else
      text += fmt::format("${}", r.lookup->read);
  }
  if (r.guarded) {
    Scalar fill = number(r.fill);
    text += (r.index.empty() ? ": guard " : " : guard ") +
            Speller({}, [](int) { return std::string(); }).spell(fill, kSum);
  }
  return text + "]";
}

std::string spell_body(const Scalar& s, std::span<const std::string> axes,
                       const std::function<std::string(int)>& operand) {
  return Speller(axes, operand).spell(s, kSum);
}

bool reads_follow_body(const Node& n) {
  std::vector<int> operands;
  collect(n, n.body, operands);
  int next = 0;
  for (int i : operands) {
    if (i > next) return false;
    if (i == next) ++next;
  }
  if (static_cast<size_t>(next) != n.reads.size()) return false;
  for (size_t i = 0; i < n.reads.size(); ++i)
    for (size_t j = 0; j <= i; ++j)
      if ((n.reads[i] == n.reads[j]) != (i == j))
        return false;  // a fill of nan differs from itself
  return true;
}

namespace {

Read parse_read(Scanner& s, const BodyNames& names, std::vector<Read>& reads, bool nested) {
  Read r;
  s.peek();
  const size_t at = s.at();
  r.tensor = find_name(s, at, "tensor", s.name(), names.tensors);
  s.expect('[');
  if (s.peek() != ']' && s.peek() != ':') {
    do {
      if (!at_lookup(s)) {
        r.index.push_back(parse_index(s, names.axes));
        continue;
      }
      if (nested) s.fail("what is looked up can not look something up itself");
      if (r.lookup) s.fail("only one dimension of a read can be looked up");
      r.lookup = Lookup{static_cast<int>(r.index.size()), parse_lookup(s, names, reads)};
      r.index.emplace_back();
    } while (s.accept(','));
  }
  if (s.accept(':')) {
    if (!s.accept_word("guard"))
      s.fail("expected guard and a number behind ':'", "x[2*i - 1 : guard 0]");
    r.guarded = true;
    r.fill = parse_signed(s);
  }
  s.expect(']');
  return r;
}

}  // namespace

Read parse_read(Scanner& s, const BodyNames& names, std::vector<Read>& reads) {
  return parse_read(s, names, reads, false);
}

Scalar parse_body(Scanner& scanner, const BodyNames& names, std::vector<Read>& reads) {
  return Parser(scanner, names, reads).sum();
}

}  // namespace assay::ir
