#include "runtime/virtual/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "support/edit_distance.h"
#include "support/quantity.h"
#include "support/yaml.h"

namespace assay::runtime::simulated {
namespace {

using yaml::Node;
using Field = std::function<void(const Node&)>;
using Fields = std::map<std::string, Field>;

constexpr const char* kSchema = "assay/virtual/1";
constexpr std::array<std::string_view, 4> kMaps = {"throttle", "dvfs", "fault", "neighbour"};

struct Reader {
  const yaml::Document& doc;
  Diags diags{};

  void fail(const Node& at, std::string message, std::string hint = "") {
    diags.push_back(error_at(doc, at, std::move(message), std::move(hint)));
  }
  void map(const Node& n, const Fields& fields);
  Field number(double& to, double low, double high);
  Field time(double& to);
  Field text(std::string& to);
  Field seed(uint64_t& to);
  template <class E>
  Field word(E& to, std::vector<std::pair<std::string, E>> words);
};

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? fmt::format("one of: {}", fmt::join(known, ", "))
                      : fmt::format("did you mean '{}'?", near);
}

void Reader::map(const Node& n, const Fields& fields) {
  if (n.kind != Node::Kind::map) return fail(n, "expected a map");
  std::vector<std::string> known;
  for (const auto& [name, read] : fields) known.push_back(name);
  for (const yaml::Entry& e : n.entries) {
    const auto field = fields.find(e.key);
    if (field == fields.end())
      diags.push_back(error_at(doc, e.line, e.col, fmt::format("unknown key '{}'", e.key),
                               did_you_mean(e.key, known)));
    else if (e.value.kind != Node::Kind::scalar &&
             std::find(kMaps.begin(), kMaps.end(), e.key) == kMaps.end())
      fail(e.value, fmt::format("'{}' is one value", e.key));
    else
      field->second(e.value);
  }
}

Field Reader::number(double& to, double low, double high) {
  return [this, &to, low, high](const Node& n) {
    const auto v = parse_number(n.scalar);
    if (!v) return fail(n, fmt::format("'{}' is no number", n.scalar));
    if (!(*v >= low && *v <= high))
      return fail(n, fmt::format("{} is not from {} to {}", n.scalar, low, high));
    to = *v;
  };
}

Field Reader::time(double& to) {
  return [this, &to](const Node& n) {
    const auto q = parse_quantity(n.scalar, Dimension::seconds);
    if (!q) return fail(n, q.diags()[0].message, "a time, such as 20 ms");
    if (!(q->v > 0)) return fail(n, fmt::format("'{}' is no positive time", n.scalar));
    to = q->v;
  };
}

Field Reader::text(std::string& to) {
  return [this, &to](const Node& n) {
    if (n.scalar.empty()) return fail(n, "expected a name");
    to = n.scalar;
  };
}

Field Reader::seed(uint64_t& to) {
  return [this, &to](const Node& n) {
    const auto v = parse_number(n.scalar);
    if (!v || *v < 0 || *v > 1e15 || *v != std::floor(*v))
      return fail(n, fmt::format("'{}' is no whole number", n.scalar));
    to = static_cast<uint64_t>(*v);
  };
}

template <class E>
Field Reader::word(E& to, std::vector<std::pair<std::string, E>> words) {
  return [this, &to, words = std::move(words)](const Node& n) {
    std::vector<std::string> known;
    for (const auto& [name, value] : words) {
      if (name == n.scalar) {
        to = value;
        return;
      }
      known.push_back(name);
    }
    fail(n, fmt::format("'{}' is not known here", n.scalar), did_you_mean(n.scalar, known));
  };
}

void check_fault(Reader& r, const Node& at, const Fault& fault) {
  if (fault.at >= 1 && fault.at != std::floor(fault.at))
    r.fail(at,
           fmt::format("a fault at {}: the number of a run, or a probability below 1", fault.at));
}

void check_neighbour(Reader& r, const Node& at, const Neighbour& n) {
  if (n.every <= 0 || n.lasts <= 0 || n.lasts >= n.every)
    r.fail(at, "a neighbour needs `every`, and a shorter `lasts`",
           "such as every: 7 ms, lasts: 3 ms");
}

}  // namespace

Result<Effects> parse_effects(std::string_view text, std::string_view file) {
  const auto doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  Reader r{*doc};
  Effects e;
  std::string schema;
  const auto part = [&](Fields fields) {
    return [&r, fields = std::move(fields)](const Node& n) { r.map(n, fields); };
  };
  const Fields fields = {
      {"schema", r.text(schema)},
      {"profile", r.text(e.profile)},
      {"noise", r.number(e.noise, 0, 1)},
      {"seed", r.seed(e.seed)},
      {"throttle",
       part({{"after", r.time(e.throttle_after)}, {"to", r.number(e.throttle_to, 0.01, 1)}})},
      {"dvfs", part({{"from", r.number(e.ramp_from, 0.01, 1)}, {"over", r.time(e.ramp_over)}})},
      {"prefetch", r.word<bool>(e.prefetch, {{"next-line", true}, {"off", false}})},
      {"hash", r.word<bool>(e.hash, {{"true", true}, {"false", false}})},
      {"victim", r.text(e.victim)},
      {"replacement", r.word<Replacement>(e.replacement, {{"lru", Replacement::lru},
                                                          {"plru", Replacement::plru},
                                                          {"random", Replacement::random}})},
      {"declares", r.number(e.declares, 0, 100)},
      {"build", r.time(e.build)},
      {"neighbour", [&](const Node& n) {
         Neighbour& of = e.neighbour;
         r.map(n, {{"every", r.time(of.every)},
                   {"lasts", r.time(of.lasts)},
                   {"caches", r.number(of.caches, 0.01, 1)},
                   {"slots", r.number(of.slots, 0.01, 1)},
                   {"clock", r.number(of.clock, 0.01, 1)}});
         check_neighbour(r, n, of);
       }},
      {"fault", [&](const Node& n) {
         r.map(n, {{"kind", r.word<FaultKind>(e.fault.kind, {{"error", FaultKind::error},
                                                             {"crash", FaultKind::crash},
                                                             {"hang", FaultKind::hang},
                                                             {"lies", FaultKind::lies}})},
                   {"at", r.number(e.fault.at, 0, 1e12)}});
         if (e.fault.kind == FaultKind::none && r.diags.empty())
           r.fail(n, "a fault without a kind", "error, crash, hang or lies");
         check_fault(r, n, e.fault);
       }}};
  r.map(doc->root, fields);
  if (r.diags.empty() && schema != kSchema)
    r.fail(doc->root, fmt::format("'schema' is '{}', expected {}", schema, kSchema));
  if (r.diags.empty() && e.profile.empty())
    r.fail(doc->root, "'profile' is missing", "a name of the library, or a file");
  if (has_error(r.diags)) return r.diags;
  return e;
}

}  // namespace assay::runtime::simulated
