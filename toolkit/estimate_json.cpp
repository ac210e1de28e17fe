#include "toolkit/estimate_json.h"

#include <algorithm>
#include <array>
#include <string>

namespace assay::toolkit {

namespace {

constexpr std::array<const char*, 4> kJoins = {"leaf", "sum", "longest", "overlap"};

Json to_json(const model::Part& p) {
  Json out = {{"name", p.name}, {"seconds", p.seconds}};
  if (!p.detail.empty()) out["detail"] = p.detail;
  for (const model::Basis& b : p.basis)
    out["profile"].push_back({{"path", b.path}, {"value", b.value}, {"assumed", b.assumed}});
  if (p.joins == model::Part::Joins::leaf) return out;
  out["joins"] = kJoins[static_cast<size_t>(p.joins)];
  if (p.times != 1) out["times"] = p.times;
  for (const model::Part& child : p.parts) out["parts"].push_back(to_json(child));
  return out;
}

}  // namespace

Json to_json(const model::Estimate& e) {
  Json terms = Json::array();
  for (const model::Term& t : e.terms)
    terms.push_back({{"name", t.name}, {"seconds", t.seconds}, {"detail", t.detail}});
  Json levels = Json::array();
  for (const model::LevelUse& l : e.levels)
    levels.push_back({{"boundary", l.boundary},
                      {"read_bytes", l.read_bytes},
                      {"written_bytes", l.written_bytes},
                      {"seconds", l.seconds},
                      {"working_set", l.working_set}});
  Json out = {{"seconds", e.seconds},
              {"low", e.low},
              {"high", e.high},
              {"bound", e.bound},
              {"bound_margin", e.bound_margin},
              {"flops", e.flops},
              {"groups", e.groups},
              {"rounds", e.rounds},
              {"balance", e.balance},
              {"efficiency", e.efficiency},
              {"occupancy", e.occupancy},
              {"terms", terms},
              {"levels", levels},
              {"assumed", e.assumed}};
  if (!e.tree.parts.empty()) out["tree"] = to_json(e.tree);
  return out;
}

namespace {

model::Part read_part(const Json& j) {
  model::Part p;
  j.at("name").get_to(p.name);
  j.at("seconds").get_to(p.seconds);
  p.detail = j.value("detail", "");
  p.times = j.value("times", 1.0);
  const std::string joins = j.value("joins", "leaf");
  const auto at = std::ranges::find(kJoins, joins);
  if (at == kJoins.end())
    throw Json::other_error::create(501, "'" + joins + "' joins no parts of an estimate", &j);
  p.joins = static_cast<model::Part::Joins>(at - kJoins.begin());
  for (const Json& b : j.value("profile", Json::array()))
    p.basis.push_back({b.at("path").get<std::string>(), b.at("value").get<std::string>(),
                       b.at("assumed").get<bool>()});
  for (const Json& child : j.value("parts", Json::array())) p.parts.push_back(read_part(child));
  return p;
}

model::Estimate read(const Json& j) {
  model::Estimate e;
  j.at("seconds").get_to(e.seconds);
  j.at("low").get_to(e.low);
  j.at("high").get_to(e.high);
  j.at("bound").get_to(e.bound);
  j.at("bound_margin").get_to(e.bound_margin);
  j.at("flops").get_to(e.flops);
  j.at("groups").get_to(e.groups);
  j.at("rounds").get_to(e.rounds);
  j.at("balance").get_to(e.balance);
  e.efficiency = j.value("efficiency", 0.0);
  j.at("occupancy").get_to(e.occupancy);
  j.at("assumed").get_to(e.assumed);
  for (const Json& t : j.at("terms"))
    e.terms.push_back({t.at("name").get<std::string>(), t.at("seconds").get<double>(),
                       t.at("detail").get<std::string>()});
  if (j.contains("tree")) e.tree = read_part(j.at("tree"));
  for (const Json& l : j.at("levels"))
    e.levels.push_back({l.at("boundary").get<std::string>(), l.at("read_bytes").get<double>(),
                        l.at("written_bytes").get<double>(), l.at("seconds").get<double>(),
                        l.at("working_set").get<double>()});
  return e;
}

}  // namespace

Result<model::Estimate> estimate_from_json(const Json& json) {
  try {
    return read(json);
  } catch (const nlohmann::json::exception& e) {
    return error(std::string("an estimate is not as it was written: ") + e.what());
  }
}

Result<Json> parse_json(const std::string& text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    Diag d = error(std::string("is not JSON: ") + e.what());
    d.file = file;
    return d;
  }
}

}  // namespace assay::toolkit
