#include "ir/index.h"

#include <algorithm>
#include <numeric>

#include "support/check.h"

namespace assay::ir {

bool Term::operator==(const Term& o) const {
  return coeff == o.coeff && var == o.var && div == o.div && mod == o.mod && of == o.of;
}

namespace {

int64_t floor_div(int64_t a, int64_t d) { return a / d - ((a % d != 0 && (a < 0)) ? 1 : 0); }
int64_t floor_mod(int64_t a, int64_t d) { return a - d * floor_div(a, d); }

bool same_base(const Term& a, const Term& b) {
  return a.var == b.var && a.div == b.div && a.mod == b.mod && a.of == b.of;
}

bool plain(const Term& t) { return t.div == 1 && t.mod == 0; }

// Adds a term, merging it with an equal one.
void accumulate(Index& to, const Term& t) {
  if (t.coeff == 0) return;
  for (size_t i = 0; i < to.terms.size(); ++i) {
    if (!same_base(to.terms[i], t)) continue;
    to.terms[i].coeff += t.coeff;
    if (to.terms[i].coeff == 0) to.terms.erase(to.terms.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
  to.terms.push_back(t);
}

void accumulate(Index& to, const Index& from, int64_t factor) {
  to.offset += from.offset * factor;
  for (Term t : from.terms) {
    t.coeff *= factor;
    accumulate(to, t);
  }
}

Range range_of_term(const Term& t, Ranges ranges) {
  Range r = t.var >= 0 ? ranges[static_cast<size_t>(t.var)] : range_of(t.of[0], ranges);
  r = {floor_div(r.low, t.div), floor_div(r.high, t.div)};
  if (t.mod > 0) {
    const int64_t period = floor_div(r.low, t.mod);
    if (period == floor_div(r.high, t.mod))
      r = {r.low - period * t.mod, r.high - period * t.mod};
    else
      r = {0, t.mod - 1};
  }
  return t.coeff >= 0 ? Range{r.low * t.coeff, r.high * t.coeff}
                      : Range{r.high * t.coeff, r.low * t.coeff};
}

// a = d * quotient + rest, where the terms of quotient are those whose coefficients d divides;
// 0 <= rest.offset < d.
struct Split {
  Index quotient, rest;
};

Split split(const Index& a, int64_t d) {
  Split s;
  for (const Term& t : a.terms) {
    Term part = t;
    if (t.coeff % d == 0) {
      part.coeff /= d;
      accumulate(s.quotient, part);
    } else {
      accumulate(s.rest, part);
    }
  }
  s.quotient.offset = floor_div(a.offset, d);
  s.rest.offset = floor_mod(a.offset, d);
  return s;
}

// The nested term (inner / div) % mod as an Index; a lone plain variable needs no nesting.
Index nest(const Index& inner, int64_t div, int64_t mod) {
  Term t;
  t.div = div;
  t.mod = mod;
  const bool lone = inner.terms.size() == 1 && inner.offset == 0 && inner.terms[0].coeff == 1;
  if (lone && inner.terms[0].mod == 0 && (inner.terms[0].var >= 0 || div > 1 || mod > 0)) {
    // (x / a) / b = x / (a b)
    t.var = inner.terms[0].var;
    t.of = inner.terms[0].of;
    t.div = inner.terms[0].div * div;
  } else {
    t.of = {inner};
  }
  Index out;
  out.terms.push_back(std::move(t));
  return out;
}

// A factor g of d such that rest = g*x + y with 0 <= y < g. Then rest/d = x/(d/g) and
// rest%d = g*(x % (d/g)) + y. nullopt: there is none.
struct Factored {
  int64_t g = 1;
  Split parts;
};

std::optional<Factored> factor(const Index& rest, int64_t d, Ranges ranges) {
  for (const Term& t : rest.terms) {
    const int64_t g = std::gcd(d, t.coeff);
    if (g == 1 || g == d) continue;
    Split s = split(rest, g);
    const Range r = range_of(s.rest, ranges);
    if (r.low >= 0 && r.high < g && s.rest.terms.size() < rest.terms.size())
      return Factored{g, std::move(s)};
  }
  return std::nullopt;
}

Index simplify_term(const Term& t, Ranges ranges) {
  Index base = t.var >= 0 ? variable(t.var) : simplify(t.of[0], ranges);
  if (t.div > 1) base = divide(base, t.div, ranges);
  if (t.mod > 0) base = modulo(base, t.mod, ranges);
  return base;
}

}  // namespace

Index constant(int64_t value) { return {{}, value}; }

Index variable(int var, int64_t coeff) {
  Index out;
  Term t;
  t.coeff = coeff;
  t.var = var;
  if (coeff != 0) out.terms.push_back(std::move(t));
  return out;
}

Index operator+(Index a, const Index& b) {
  accumulate(a, b, 1);
  return a;
}

Index operator*(Index a, int64_t factor) {
  Index out;
  accumulate(out, a, factor);
  return out;
}

Index operator+(Index a, int64_t b) {
  a.offset += b;
  return a;
}

Index divide(const Index& a, int64_t d, Ranges ranges) {
  ASSAY_CHECK(d >= 1);
  if (d == 1) return a;
  Split s = split(a, d);
  const Range r = range_of(s.rest, ranges);
  if (floor_div(r.low, d) == floor_div(r.high, d))
    return std::move(s.quotient) + floor_div(r.low, d);
  if (const auto f = factor(s.rest, d, ranges))
    return std::move(s.quotient) + divide(f->parts.quotient, d / f->g, ranges);
  return std::move(s.quotient) + nest(s.rest, d, 0);
}

Index modulo(const Index& a, int64_t d, Ranges ranges) {
  ASSAY_CHECK(d >= 1);
  if (d == 1) return constant(0);
  Split s = split(a, d);
  const Range r = range_of(s.rest, ranges);
  if (floor_div(r.low, d) == floor_div(r.high, d))
    return std::move(s.rest) + (-d * floor_div(r.low, d));
  if (const auto f = factor(s.rest, d, ranges))
    return modulo(f->parts.quotient, d / f->g, ranges) * f->g + f->parts.rest;
  return nest(s.rest, 1, d);
}

Index simplify(const Index& a, Ranges ranges) {
  Index out = constant(a.offset);
  for (const Term& t : a.terms) {
    if (plain(t) && t.var >= 0)
      accumulate(out, t);
    else
      accumulate(out, simplify_term(t, ranges), t.coeff);
  }
  // A variable with one possible value is a number.
  Index folded = constant(out.offset);
  for (const Term& t : out.terms) {
    const Range r = range_of_term(t, ranges);
    if (r.low == r.high)
      folded.offset += r.low;
    else
      accumulate(folded, t);
  }
  return folded;
}

Range range_of(const Index& a, Ranges ranges) {
  Range r{a.offset, a.offset};
  for (const Term& t : a.terms) {
    const Range part = range_of_term(t, ranges);
    r.low += part.low;
    r.high += part.high;
  }
  return r;
}

Reach reach_of(const Index& a, Ranges ranges) {
  std::vector<std::pair<int64_t, int64_t>> progressions;  // distance, number
  for (const Term& t : a.terms) {
    const Range r = range_of_term(t, ranges);
    const int64_t distance = std::abs(t.coeff);
    if (r.high > r.low) progressions.emplace_back(distance, (r.high - r.low) / distance + 1);
  }
  std::ranges::sort(progressions);
  Reach out;
  for (const auto& [distance, number] : progressions) {
    const bool even =
        out.count == 1 || (distance % out.step == 0 && distance <= out.span - 1 + out.step &&
                           (out.count - 1) * out.step == out.span - 1);
    if (out.count == 1) out.step = distance;
    out.span += (number - 1) * distance;
    out.count = even ? (out.span - 1) / out.step + 1 : std::min(out.count * number, out.span);
    if (!even) out.step = 1;
  }
  return out;
}

int64_t evaluate(const Index& a, std::span<const int64_t> values) {
  int64_t sum = a.offset;
  for (const Term& t : a.terms) {
    int64_t v = t.var >= 0 ? values[static_cast<size_t>(t.var)] : evaluate(t.of[0], values);
    v = floor_div(v, t.div);
    if (t.mod > 0) v = floor_mod(v, t.mod);
    sum += t.coeff * v;
  }
  return sum;
}

Index substitute(const Index& a, const std::function<Index(int)>& with) {
  Index out = constant(a.offset);
  for (const Term& t : a.terms) {
    Index base = t.var >= 0 ? with(t.var) : substitute(t.of[0], with);
    if (plain(t)) {
      accumulate(out, base, t.coeff);
    } else {
      Term nested = t;
      nested.var = -1;
      nested.of = {std::move(base)};
      accumulate(out, nested);
    }
  }
  return out;
}

bool depends_on(const Index& a, int var) {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const Term& t) {
    return t.var >= 0 ? t.var == var : depends_on(t.of[0], var);
  });
}

int64_t run_of(const Index& a, int var) {
  int64_t run = 0;
  for (const Term& t : a.terms) {
    if (t.var >= 0 ? t.var == var : depends_on(t.of[0], var))
      run = std::gcd(run, t.var >= 0 ? t.div : run_of(t.of[0], var));
  }
  return run;
}

std::optional<int> variable_of(const Index& a) {
  if (a.offset != 0 || a.terms.size() != 1) return std::nullopt;
  const Term& t = a.terms[0];
  return t.var >= 0 && t.coeff == 1 && plain(t) ? std::optional(t.var) : std::nullopt;
}

std::optional<int64_t> stride_of(const Index& a, int var) {
  int64_t stride = 0;
  for (const Term& t : a.terms) {
    const bool inside = t.var >= 0 ? t.var == var : depends_on(t.of[0], var);
    if (!inside) continue;
    if (!plain(t) || t.var < 0) return std::nullopt;
    stride += t.coeff;
  }
  return stride;
}

namespace {

std::string print_base(const Term& t, std::span<const std::string> names) {
  std::string out =
      t.var >= 0 ? names[static_cast<size_t>(t.var)] : "(" + print(t.of[0], names) + ")";
  if (t.div > 1) out += "/" + std::to_string(t.div);
  if (t.mod > 0) out += "%" + std::to_string(t.mod);
  return out;
}

std::string print_magnitude(const Term& t, std::span<const std::string> names) {
  const int64_t c = t.coeff < 0 ? -t.coeff : t.coeff;
  const std::string base = print_base(t, names);
  if (c == 1) return base;
  return std::to_string(c) + "*" + (plain(t) ? base : "(" + base + ")");
}

}  // namespace

std::string print(const Index& a, std::span<const std::string> names) {
  std::string out;
  for (const Term& t : a.terms) {
    if (out.empty())
      out += t.coeff < 0 ? "-" : "";
    else
      out += t.coeff < 0 ? " - " : " + ";
    out += print_magnitude(t, names);
  }
  if (out.empty()) return std::to_string(a.offset);
  if (a.offset > 0) out += " + " + std::to_string(a.offset);
  if (a.offset < 0) out += " - " + std::to_string(-a.offset);
  return out;
}

}  // namespace assay::ir
