// Which form of an operation is the fastest.
#include "probe/inference/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "probe/inference/infer.h"
#include "probe/inference/stats.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kSlower = 1.25;  // a second instruction, or a function, takes more than this,
constexpr double kSlowerAlone =
    1.15;  // and in a dependence chain, too: a co-tenant rarely disturbs both

struct Timed {
  std::string name;
  int place = 0;
  Summary many, one;
};

std::vector<Timed> timed(const Observations& all, const std::string& key) {
  std::set<std::string> names;
  for (const Observation& o : all.points)
    if (o.experiment == kForms && o.what.starts_with(key + " "))
      names.insert(o.what.substr(key.size() + 1));
  std::vector<Timed> out;
  for (const std::string& name : names) {
    const std::vector<Observation> blocks = select(all, kForms, key + " " + name);
    const std::vector<double> chains = values_of(blocks, "chains");
    const auto at = [&](double n, Estimator e) {
      return summarize(select(all, kForms, key + " " + name, {{"chains", n}}), e);
    };
    const auto many = at(chains.back(), Estimator::throughput),
               one = at(chains.front(), Estimator::latency);
    if (many && one)
      out.push_back({name, static_cast<int>(blocks.front().value_at("place")), *many, *one});
  }
  std::sort(out.begin(), out.end(),
            [](const Timed& a, const Timed& b) { return a.place < b.place; });
  return out;
}

bool certainly_slower(const Summary& a, const Summary& than, double times) {
  return a.value > times * than.value && a.low > than.high;
}
bool slower(const Timed& a, const Timed& than) {
  return certainly_slower(a.many, than.many, kSlower) &&
         certainly_slower(a.one, than.one, kSlowerAlone);
}

}  // namespace

std::vector<FormsOf> forms_of(const Observations& all) {
  std::set<std::string> keys;
  for (const Observation& o : all.points)
    if (o.experiment == kForms) keys.insert(o.what.substr(0, o.what.find(' ')));
  std::vector<FormsOf> out;
  for (const std::string& key : keys) {
    const std::vector<Timed> forms = timed(all, key);
    if (forms.empty()) continue;
    // The first in the dialect's list that is not slower than the fastest.
    const auto fastest = std::min_element(
        forms.begin(), forms.end(),
        [](const Timed& a, const Timed& b) { return a.many.value < b.many.value; });
    const auto best = std::find_if(forms.begin(), forms.end(),
                                   [&](const Timed& t) { return !slower(t, *fastest); });
    FormsOf f{key, {}, static_cast<int>(best - forms.begin()), false};
    for (const Timed& t : forms) {
      f.rates.push_back(
          {t.name, t.place, t.many.value / best->many.value, t.one.value / best->one.value});
      f.differ = f.differ || slower(t, *best);
    }
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<NamedText> unusual_forms(const Observations& all) {
  std::vector<NamedText> out;
  for (const FormsOf& f : forms_of(all)) {
    const FormRate& best = f.rates[static_cast<size_t>(f.best)];
    if (best.place > 0) out.emplace_back(f.key, best.name);
  }
  return out;
}

void infer_forms(const Observations& all, Profile& to) {
  if (to.apis.empty()) return;
  for (const FormsOf& f : forms_of(all)) {
    const FormRate& best = f.rates[static_cast<size_t>(f.best)];
    if (f.differ) to.apis[0].forms.emplace_back(f.key, best.name);
    std::string note = "times of its forms, many chains and one:";
    for (const FormRate& r : f.rates)
      note += fmt::format("{} {} {:.2f} {:.2f}", &r == &f.rates.front() ? "" : ",", r.name, r.many,
                          r.one);
    for (const auto& [name, text] : all.facts)
      if (name.starts_with(kRefused + f.key + " "))
        note += fmt::format(", {}: {}", name.substr(name.find(' ') + 1), text);
    for (ComputeOp& c : to.compute) {
      if (fmt::format("{}.{}", c.op, c.dtype) != f.key) continue;
      std::string& at = c.slots.known() ? c.slots.note : c.latency.note;
      at += (at.empty() ? "" : "; ") + note;
    }
  }
}

}  // namespace assay::probe
