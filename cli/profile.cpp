// assay profile list | show | check | schema
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "hwdesc/library.h"
#include "hwdesc/print.h"
#include "hwdesc/reference.h"
#include "hwdesc/schema.h"
#include "hwdesc/show.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profile_rates.h"
#include "toolkit/profiles.h"

namespace assay::cli {
namespace {

using toolkit::Json;

Json number_or_null(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }

// Quantities as numbers in base units, words as text.
Json to_json(const std::vector<hwdesc::FieldRow>& rows) {
  Json out = Json::array();
  for (const hwdesc::FieldRow& r : rows) {
    Json row = {{"path", r.path}};
    if (r.unit.empty()) {
      row["value"] = r.value;
    } else {
      row["value"] = number_or_null(r.number);
      row["unit"] = r.unit;
      if (r.low || r.high) row["interval"] = {number_or_null(r.low), number_or_null(r.high)};
      row["text"] = r.value;
    }
    for (const auto& [key, text] : {std::pair<const char*, const std::string&>{"source", r.origin},
                                    {"method", r.method},
                                    {"ref", r.ref},
                                    {"note", r.note}})
      if (!text.empty()) row[key] = text;
    out.push_back(std::move(row));
  }
  return out;
}

void print_rows(const std::vector<hwdesc::FieldRow>& rows) {
  size_t path = 0, value = 0, interval = 0;
  for (const hwdesc::FieldRow& r : rows) {
    path = std::max(path, r.path.size());
    value = std::max(value, std::min<size_t>(r.value.size(), 40));
    interval = std::max(interval, r.interval.size());
  }
  for (const hwdesc::FieldRow& r : rows) {
    std::string line = fmt::format("{:<{}}  {:<{}}  {:<{}}  {}", r.path, path, r.value, value,
                                   r.interval, interval, r.origin);
    if (!r.ref.empty()) line += " [" + r.ref + "]";
    if (!r.note.empty()) line += "  " + r.note;
    while (line.back() == ' ') line.pop_back();
    fmt::print("{}\n", line);
  }
}

Result<hwdesc::Profile> load(const std::string& name, const std::vector<std::string>& overrides) {
  Result<hwdesc::Profile> profile = toolkit::load_profile(name);
  return profile ? toolkit::apply_overrides(std::move(*profile), overrides) : std::move(profile);
}

Json to_json(const Diags& diags) {
  Json out = Json::array();
  for (const Diag& d : diags)
    out.push_back({{"severity", d.severity == Severity::error ? "error" : "warning"},
                   {"file", d.file},
                   {"line", d.line},
                   {"col", d.col},
                   {"message", d.message},
                   {"hint", d.hint}});
  return out;
}

struct Summary {
  toolkit::PeakRates rates;
  std::string apis;
};

Result<Summary> summary_of(const hwdesc::Profile& profile) {
  const Result<hwdesc::Target> target = toolkit::target_of(profile, "");
  if (!target) return target.diags();
  const Result<toolkit::PeakRates> rates = toolkit::peak_rates(*target);
  if (!rates) return rates.diags();
  Summary out{*rates, ""};
  for (const hwdesc::Api& a : profile.apis) out.apis += (out.apis.empty() ? "" : ", ") + a.name;
  return out;
}

}  // namespace

ExitCode run_profile_list(const Command& self, std::span<const std::string> arguments,
                          const Context& context) {
  Options options(self);
  options.add_format();
  if (const auto stop = options.parse(arguments)) return *stop;
  Json json = Json::array();
  if (options.format() == Format::text)
    fmt::print("{:<30} {:<11} {:>6} {:>15} {:>10}  {}\n", "profile", "class", "units", "peak f32",
               "memory", "apis");
  for (const hwdesc::LibraryEntry& entry : hwdesc::library()) {
    if (entry.kind != hwdesc::LibraryKind::profile) continue;
    const std::string name(entry.name);
    const Result<hwdesc::Profile> profile = toolkit::load_profile(name);
    if (!profile) return failed(profile.diags(), context, ExitCode::internal);
    const Result<Summary> s = summary_of(*profile);
    if (!s) return failed(s.diags(), context, ExitCode::internal);
    json.push_back({{"name", name},
                    {"class", profile->chip_class},
                    {"apis", s->apis},
                    {"units", s->rates.units},
                    {"peak_f32_flops", s->rates.flops},
                    {"memory_bytes_per_s", s->rates.bandwidth}});
    if (options.format() == Format::text)
      fmt::print("{:<30} {:<11} {:>6} {:>8.0f} GFLOP/s {:>5.0f} GB/s  {}\n", name,
                 profile->chip_class, s->rates.units, s->rates.flops / 1e9,
                 s->rates.bandwidth / 1e9, s->apis);
  }
  if (options.format() == Format::json) print_json(json);
  return ExitCode::ok;
}

ExitCode run_profile_show(const Command& self, std::span<const std::string> arguments,
                          const Context& context) {
  std::string name;
  std::vector<std::string> overrides;
  Options options(self);
  options.add_option("PROFILE", name, "file, or name in the library").required();
  options.add_overrides(overrides);
  options.add_format({Format::text, Format::yaml, Format::json, Format::hash});
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<hwdesc::Profile> profile = load(name, overrides);
  if (!profile) return failed(profile.diags(), context);
  if (options.format() == Format::yaml)
    fmt::print("{}", toolkit::print_profile_text(*profile));
  else if (options.format() == Format::hash)
    fmt::print("{}\n", hwdesc::hash_of(*profile));
  else if (options.format() == Format::json)
    print_json(to_json(hwdesc::rows(*profile)));
  else
    print_rows(hwdesc::rows(*profile));
  return ExitCode::ok;
}

ExitCode run_profile_check(const Command& self, std::span<const std::string> arguments,
                           const Context& context) {
  std::string name;
  Options options(self);
  options.add_option("PROFILE", name, "file, or name in the library").required();
  options.add_format();
  if (const auto stop = options.parse(arguments)) return *stop;
  const bool readable = toolkit::profile_exists(name);
  Diags notes;
  toolkit::LoadProfileOptions load_options;
  load_options.notes = &notes;
  const Result<hwdesc::Profile> profile = toolkit::load_profile(name, load_options);
  const bool parsed = profile.ok();
  Diags diags = parsed ? toolkit::check_profile(*profile) : profile.diags();
  diags.insert(diags.end(), notes.begin(), notes.end());
  if (!readable) return failed(diags, context);
  if (options.format() == Format::json)
    print_json(to_json(diags));
  else if (diags.empty())
    fmt::print("{}: nothing is wrong\n", name);
  else
    fmt::print("{}", render_kinds(diags));
  // A text that is no profile is bad input. A profile with gaps or contradictions answers no.
  if (!parsed) return ExitCode::bad_input;
  return has_error(diags) ? ExitCode::no : ExitCode::ok;
}

ExitCode run_profile_schema(const Command& self, std::span<const std::string> arguments,
                            const Context& context) {
  Options options(self);
  options.add_format({Format::json, Format::markdown});
  if (const auto stop = options.parse(arguments)) return *stop;
  if (options.format() == Format::json) {
    fmt::print("{}", hwdesc::profile_schema());
    return ExitCode::ok;
  }
  const Result<hwdesc::Profile> example = toolkit::load_profile(hwdesc::kReferenceExample);
  if (!example) return failed(example.diags(), context, ExitCode::internal);
  fmt::print("{}", hwdesc::reference_page(*example));
  return ExitCode::ok;
}

}  // namespace assay::cli
