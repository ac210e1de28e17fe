#include "ir/text_index.h"

#include <fmt/format.h>

#include "ir/limits.h"

namespace assay::ir {
namespace {

std::string name_of(int var, std::span<const std::string> names) {
  const size_t i = static_cast<size_t>(var);
  return i < names.size() ? spell_name(names[i]) : fmt::format("'#{}'", var);
}

bool is_single_term(const Index& a) {
  return a.offset == 0 && a.terms.size() == 1 && a.terms[0].coeff == 1;
}

bool divides(const Term& t) { return t.div != 1 || t.mod != 0; }

std::string spell_base(const Term& t, std::span<const std::string> names) {
  if (t.var >= 0) return name_of(t.var, names);
  if (t.of.empty()) return "()";
  const std::string inner = spell_index(t.of[0], names);
  // The parser drops one pair around a lone term, unless a pair stands inside it already.
  const Index& of = t.of[0];
  const bool dropped =
      !divides(t) && is_single_term(of) && (of.terms[0].var >= 0 || divides(of.terms[0]));
  return dropped ? "((" + inner + "))" : "(" + inner + ")";
}

// Without the sign of the coefficient.
std::string spell_term(const Term& t, std::span<const std::string> names) {
  std::string text = spell_base(t, names);
  if (t.div != 1) text += fmt::format("/{}", t.div);
  if (t.mod != 0) text += fmt::format("%{}", t.mod);
  if (t.coeff == 1 || t.coeff == -1) return text;
  const uint64_t magnitude =
      t.coeff < 0 ? -static_cast<uint64_t>(t.coeff) : static_cast<uint64_t>(t.coeff);
  return fmt::format(fmt::runtime(divides(t) ? "{}*({})" : "{}*{}"), magnitude, text);
}

// The factor read so far. `group`: an expression in parentheses only; `lone`: and that expression
// is in parentheses itself.
struct Factor {
  Index index;
  bool group = false, lone = false;
};

constexpr int kMaxNestings = 1000;  // of one index, in all

class Parser {
 public:
  Parser(Scanner& scanner, std::span<const std::string> names) : s_(scanner), names_(names) {}

  // Tells by `lone` whether the sum was one group in parentheses.
  Index sum(bool& lone) {
    Factor first = product(s_.accept('-'));
    lone = first.group;
    Index total = close(std::move(first));
    while (true) {
      const bool minus = s_.peek() == '-';
      const size_t at = s_.at();
      if (!s_.accept('+') && !s_.accept('-')) return total;
      lone = false;
      const Index next = scaled(close(product(false)), minus ? -1 : 1);
      if (__builtin_add_overflow(total.offset, next.offset, &total.offset)) too_large(at);
      total.terms.insert(total.terms.end(), next.terms.begin(), next.terms.end());
    }
  }

 private:
  [[noreturn]] void too_large(size_t at) const {
    s_.fail_at(at, "the numbers of this index are too large");
  }

  Index nested(Index of) {
    if (++nestings_ > kMaxNestings) s_.fail("the index is too large");
    Term t;
    t.of.push_back(std::move(of));
    return {{std::move(t)}, 0};
  }

  // A group that nothing divides: a lone plain term stands for itself.
  Index close(Factor f) {
    if (!f.group) return std::move(f.index);
    Index& of = f.index.terms[0].of[0];
    if (is_single_term(of) && !f.lone) return std::move(of);
    return std::move(f.index);
  }

  Index scaled(Index a, int64_t factor) const {
    for (Term& t : a.terms)
      if (__builtin_mul_overflow(t.coeff, factor, &t.coeff)) too_large(s_.at());
    if (__builtin_mul_overflow(a.offset, factor, &a.offset)) too_large(s_.at());
    return a;
  }

  // A leading minus belongs to the first factor: -x/2 is (-x)/2.
  Factor product(bool negative) {
    Factor left = factor();
    if (negative) left = {scaled(close(std::move(left)), -1)};
    while (true) {
      s_.peek();
      const size_t at = s_.at();
      if (s_.accept('*'))
        left = times(std::move(left), factor(), at);
      else if (s_.accept('/'))
        left = {over(std::move(left), positive(at))};
      else if (s_.accept('%'))
        left = {remainder(std::move(left), positive(at))};
      else
        return left;
    }
  }

  int64_t positive(size_t at) {
    const int64_t value = s_.integer();
    if (value < 1) s_.fail_at(at, "the divisor must be at least 1");
    return value;
  }

  Factor times(Factor a, Factor b, size_t at) {
    Index x = close(std::move(a)), y = close(std::move(b));
    if (!x.terms.empty() && !y.terms.empty())
      s_.fail_at(at, "two axes are multiplied", "an index is a sum of axes with constant factors");
    return {x.terms.empty() ? scaled(keep_whole(std::move(y)), x.offset)
                            : scaled(keep_whole(std::move(x)), y.offset)};
  }

  // A sum under a factor stays one nested term.
  Index keep_whole(Index a) {
    const bool is_sum = a.terms.size() > 1 || (a.terms.size() == 1 && a.offset != 0);
    return is_sum ? nested(std::move(a)) : a;
  }

  // The one term of `f` when more can be attached to it, else `f` nested in a new one.
  Term open_term(Factor f, bool for_division) {
    if (is_single_term(f.index)) {
      const Term& t = f.index.terms[0];
      if (t.mod == 0 && (t.div == 1 || !for_division)) return std::move(f.index.terms[0]);
    }
    return std::move(nested(std::move(f.index)).terms[0]);
  }

  Index over(Factor f, int64_t d) {
    Term t = open_term(std::move(f), true);
    t.div = d;
    return {{std::move(t)}, 0};
  }

  Index remainder(Factor f, int64_t m) {
    Term t = open_term(std::move(f), false);
    t.mod = m;
    return {{std::move(t)}, 0};
  }

  Factor factor() {
    if (s_.at_integer()) return {constant(s_.integer())};
    if (s_.accept('(')) {
      if (++depth_ > 2 * kMaxIndexDepth) s_.fail("too many parentheses");
      bool lone = false;
      Index inside = sum(lone);
      s_.expect(')');
      --depth_;
      return {nested(std::move(inside)), true, lone};
    }
    s_.peek();
    const size_t at = s_.at();
    if (!s_.at_name()) s_.fail("expected an axis, a number or a parenthesis");
    return {variable(find_name(s_, at, "axis", s_.name(), names_))};
  }

  Scanner& s_;
  std::span<const std::string> names_;
  int depth_ = 0, nestings_ = 0;
};

}  // namespace

std::string spell_index(const Index& a, std::span<const std::string> names) {
  std::string text;
  for (const Term& t : a.terms) {
    const bool first = text.empty();
    if (first)
      text = t.coeff < 0 ? "-" : "";
    else
      text += t.coeff < 0 ? " - " : " + ";
    const std::string term = spell_term(t, names);
    text += first && t.coeff == -1 && divides(t) ? "(" + term + ")" : term;
  }
  if (text.empty()) return fmt::format("{}", a.offset);
  if (a.offset > 0) text += fmt::format(" + {}", a.offset);
  if (a.offset < 0) text += fmt::format(" - {}", -static_cast<uint64_t>(a.offset));
  return text;
}

Index parse_index(Scanner& scanner, std::span<const std::string> names) {
  bool lone = false;
  return Parser(scanner, names).sum(lone);
}

}  // namespace assay::ir
