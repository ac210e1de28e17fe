#include "hwdesc/override.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hwdesc/any_value.h"
#include "hwdesc/check.h"
#include "hwdesc/reader.h"
#include "hwdesc/walk.h"
#include "support/edit_distance.h"

namespace assay::hwdesc {

namespace {

enum class Op { set, multiply, add };

struct Override {
  std::vector<std::string> path;  // split at dots
  std::string path_text;
  Op op = Op::set;
  std::string value;
  int value_col = 1;
  std::string text;
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::vector<std::string> split(std::string_view s) {
  std::vector<std::string> out;
  for (;;) {
    const size_t dot = s.find('.');
    out.emplace_back(s.substr(0, dot));
    if (dot == std::string_view::npos) return out;
    s.remove_prefix(dot + 1);
  }
}

Diag error_in(int col, std::string message, std::string hint = "") {
  Diag d = error(std::move(message), std::move(hint));
  d.col = col;
  return d;
}

Result<Override> parse_override(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return error_in(1, "'" + std::string(text) + "' is not an override",
                    "path=value, path*=number or path+=value");
  Override out;
  size_t end = equals;
  if (text[equals - 1] == '*') out.op = Op::multiply;
  if (text[equals - 1] == '+') out.op = Op::add;
  if (out.op != Op::set) --end;
  if (out.op == Op::multiply && end > 0 && text[end - 1] == '.') {
    out.op = Op::set;  // `a.*=1`: the last segment is the star
    end = equals;
  }
  if (const char before = text[equals - 1]; before == '/' || before == '-')
    return error_in(static_cast<int>(equals), fmt::format("there is no {}=", before),
                    before == '/' ? "path*=0.5 halves" : "path+=-1 takes one off");
  out.path_text = trim(text.substr(0, end));
  out.path = split(out.path_text);
  out.value = trim(text.substr(equals + 1));
  const size_t begin = text.find_first_not_of(' ', equals + 1);
  out.value_col = static_cast<int>(std::min(begin, text.size())) + 1;
  out.text = trim(text);
  for (const std::string& part : out.path)
    if (part.empty() || (part.find('*') != std::string::npos && part != "*"))
      return error_in(1, "'" + out.path_text + "' is not a path",
                      "words joined by dots; * stands for a whole word");
  if (out.value.empty()) return error_in(static_cast<int>(text.size()), "no value after '='");
  return out;
}

// How a pattern matches a path: not, at a structure above the leaf, or at the leaf itself.
enum class Match { none, above, leaf };

// Matches pattern[i..] with the path from part `part` of key `key` on. A star matches a whole key,
// or one part of a key that holds dots (compute fma.f32).
Match match_from(const std::vector<std::string>& pattern, size_t i,
                 const std::vector<std::vector<std::string>>& path, size_t key, size_t part) {
  if (key == path.size()) return i == pattern.size() ? Match::leaf : Match::none;
  if (i == pattern.size()) return Match::above;
  const auto& parts = path[key];
  Match best = Match::none;
  if (pattern[i] == "*" && part == 0) best = match_from(pattern, i + 1, path, key + 1, 0);
  if (best == Match::none && (pattern[i] == "*" || pattern[i] == parts[part])) {
    const bool last = part + 1 == parts.size();
    best = match_from(pattern, i + 1, path, last ? key + 1 : key, last ? 0 : part + 1);
  }
  return best;
}

Match match(const std::vector<std::string>& pattern, const Path& path) {
  std::vector<std::vector<std::string>> keys;
  for (const std::string& key : path) keys.push_back(split(key));
  return match_from(pattern, 0, keys, 0, 0);
}

class Apply {  // leaf: changes what the override names
 public:
  explicit Apply(const Override& change) : change_(change) {}

  template <class M>
  void operator()(const Path& path, M& member) {
    const Match m = match(change_.path, path);
    if (m == Match::none) return;
    ++matched_;
    if (failed_) return;
    if (m == Match::above && change_.op != Op::multiply) {
      return fail(1, "'" + change_.path_text + "' is a structure, not a value",
                  "name one of its values, as " + dotted(path));
    }
    if constexpr (AValue<M>) {
      AnyValue any = to_any(member);
      // Fractions and exponents describe a shape, which scaling a structure keeps.
      if (m == Match::above && any.dimension == Dimension::ratio) return;
      change_value(any);
      member = from_any<typename ValueTraits<M>::Quantity>(any);
    } else if (m == Match::leaf) {
      change_word(path, member);
    }
  }

  Result<bool> outcome(const Profile& profile) const {
    if (failed_) return *failed_;
    if (matched_ == 0) return unmatched(profile);
    if (changed_ == 0)
      return error_in(1, "'" + change_.path_text + "' is unknown: there is nothing to change",
                      "set it with =");
    return true;
  }

 private:
  void fail(int col, std::string message, std::string hint = "") {
    if (!failed_) failed_ = error_in(col, std::move(message), std::move(hint));
  }

  Diag unmatched(const Profile& profile) const;
  void change_value(AnyValue& v);
  void set(AnyValue& v);
  void multiply(AnyValue& v);
  void add(AnyValue& v);
  void derive(AnyValue& v);

  template <class M>
  void change_word(const Path& path, M& member) {
    if (change_.op != Op::set)
      return fail(1, "'" + dotted(path) + "' is a word and can only be set with =");
    for (const char* key : {"name", "op", "dtype", "mode", "use"})
      if (path.size() > 1 && path.back() == key)
        return fail(1, "'" + dotted(path) + "': an entry keeps its name");
    ++changed_;
    if constexpr (AWord<M>) {
      member = change_.value;
    } else if constexpr (AChoice<M>) {
      const auto e = from_word<M>(change_.value);
      if (e)
        member = *e;
      else
        fail(change_.value_col, "'" + change_.value + "' is not expected",
             did_you_mean(change_.value, words<M>()));
    } else {
      fail(1, "'" + dotted(path) + "' can not be overridden");
    }
  }

  const Override& change_;
  int matched_ = 0, changed_ = 0;
  std::optional<Diag> failed_;
};

void Apply::derive(AnyValue& v) {
  const std::string_view sign = change_.op == Op::set ? "=" : change_.op == Op::add ? "+=" : "*=";
  v.source = Origin::derived;
  v.method = "override " + std::string(sign) + " " + change_.value;
  v.n.reset();
  ++changed_;
}

void Apply::change_value(AnyValue& v) {
  switch (change_.op) {
    case Op::set:
      return set(v);
    case Op::add:
      return add(v);
    case Op::multiply:
      return multiply(v);
  }
}

void Apply::set(AnyValue& v) {
  AnyValue fresh;
  fresh.dimension = v.dimension;
  if (change_.value != "unknown") {
    const auto q = parse_quantity(change_.value, v.dimension);
    if (!q.ok()) {
      const Diag& e = q.diags().front();
      return fail(change_.value_col + std::max(e.col - 1, 0), e.message, e.hint);
    }
    fresh.value = *q;
  }
  v = fresh;
  derive(v);
}

void Apply::multiply(AnyValue& v) {
  if (!v.value) return;
  const auto factor = parse_number(change_.value);
  if (!factor.ok() || *factor <= 0)
    return fail(change_.value_col,
                "'" + change_.value + "' is not a positive number to multiply by");
  for (auto* q : {&v.value, &v.low, &v.high}) {
    if (!*q) continue;
    (*q)->v *= *factor;
    if (!std::isfinite((*q)->v)) return fail(change_.value_col, "the product is out of range");
  }
  derive(v);
}

void Apply::add(AnyValue& v) {
  if (!v.value) return;
  const auto q = parse_quantity(change_.value, v.dimension);
  if (!q.ok()) {
    const Diag& e = q.diags().front();
    return fail(change_.value_col + std::max(e.col - 1, 0), e.message, e.hint);
  }
  if (q->clock != v.value->clock)
    return fail(change_.value_col,
                "'" + change_.value + "' can not be added to " +
                    print_quantity(v.value->v, v.value->clock, v.dimension),
                "both must be counted by the same clock");
  for (auto* end : {&v.value, &v.low, &v.high}) {
    if (!*end) continue;
    (*end)->v += q->v;
    if (!std::isfinite((*end)->v)) return fail(change_.value_col, "the sum is out of range");
  }
  derive(v);
}

// Where the parent of `path` exists and none of its children is similar: a list of the children.
// Otherwise, or with a star in the path, "".
std::string children_where_it_fails(Path path, const std::vector<std::string>& known) {
  if (std::find(path.begin(), path.end(), "*") != path.end()) return "";
  std::vector<std::string> there;
  std::string word;
  while (there.empty() && path.size() > 1) {
    word = path.back();
    path.pop_back();
    const std::string prefix = dotted(path) + ".";
    for (const std::string& k : known)
      if (k.starts_with(prefix) && k.find('.', prefix.size()) == std::string::npos)
        there.push_back(k.substr(prefix.size()));
  }
  return there.empty() || !nearest(word, there).empty()
             ? ""
             : fmt::format("{} has: {}", dotted(path), fmt::join(there, ", "));
}

// Suggests the nearest of all paths, those of structures included.
Diag Apply::unmatched(const Profile& profile) const {
  std::vector<std::string> known;
  walk(profile, [&](const Path& path, const auto&) {
    Path prefix;
    for (const std::string& key : path) {
      prefix.push_back(key);
      const std::string text = dotted(prefix);
      if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
    }
  });
  const std::string near = nearest(change_.path_text, known);
  const std::string there = children_where_it_fails(change_.path, known);
  return error_in(1, "no place '" + change_.path_text + "' in profile '" + profile.name + "'",
                  !there.empty() ? there
                  : near.empty() ? ""
                                 : "did you mean '" + near + "'?");
}

// Errors of `after` that `before` did not have.
Diags new_faults(const Profile& before, const Profile& after) {
  const std::vector<Finding> now = inconsistencies(after);
  const bool any = std::any_of(now.begin(), now.end(),
                               [](const Finding& f) { return f.severity == Severity::error; });
  if (!any) return {};
  const std::vector<Finding> then = inconsistencies(before);
  Diags out;
  for (const Finding& f : now)
    if (f.severity == Severity::error && std::find(then.begin(), then.end(), f) == then.end())
      out.push_back(to_diag(f));
  return out;
}

}  // namespace

Result<Profile> apply_override(const Profile& profile, std::string_view text) {
  const auto change = parse_override(text);
  if (!change.ok()) return change.diags();
  Profile out = profile;
  Apply apply(*change);
  walk(out, apply);
  const auto outcome = apply.outcome(profile);
  if (!outcome.ok()) return outcome.diags();
  Diags faults = new_faults(profile, out);
  if (!faults.empty()) return faults;
  return out;
}

}  // namespace assay::hwdesc
