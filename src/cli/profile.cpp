// assay profile list | show | check | diff | merge | schema
#include <fmt/format.h>

#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "hwdesc/check.h"
#include "hwdesc/diff.h"
#include "hwdesc/library.h"
#include "hwdesc/merge.h"
#include "hwdesc/print.h"
#include "hwdesc/reference.h"
#include "hwdesc/schema.h"
#include "hwdesc/show.h"
#include "model/machine.h"
#include "toolkit/files.h"
#include "toolkit/profiles.h"

namespace assay::cli {
namespace {

using toolkit::Json;

Json to_json(const std::vector<hwdesc::FieldRow>& rows) {
  Json out = Json::array();
  for (const hwdesc::FieldRow& r : rows)
    out.push_back({{"path", r.path},
                   {"value", r.value},
                   {"interval", r.interval},
                   {"source", r.origin},
                   {"method", r.method},
                   {"ref", r.ref},
                   {"note", r.note}});
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

// What the model makes of a profile: the same numbers that estimates rest on.
struct Summary {
  double units = 0;
  double flops = 0;      // f32, multiply-adds counted as two, without matrix instructions
  double bandwidth = 0;  // bytes/s read from the furthest memory
  std::string apis;
};

Result<Summary> summary_of(const hwdesc::Profile& profile) {
  const Result<hwdesc::Target> target = toolkit::target_of(profile, "");
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  Summary out;
  out.units = machine->units;
  out.flops = 2 * machine->fma_rate.value * machine->native_width * machine->units;
  out.bandwidth = machine->levels.back().read.value;
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
    fmt::print("{:<30} {:<11} {:>6} {:>15} {:>10}  {}\n", "profile", "class", "units", "peak f32", "memory", "apis");
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
                    {"units", s->units},
                    {"peak_f32_flops", s->flops},
                    {"memory_bytes_per_s", s->bandwidth}});
    if (options.format() == Format::text)
      fmt::print("{:<30} {:<11} {:>6} {:>8.0f} GFLOP/s {:>5.0f} GB/s  {}\n", name, profile->chip_class, s->units,
                 s->flops / 1e9, s->bandwidth / 1e9, s->apis);
  }
  if (options.format() == Format::json) print_json(json);
  return ExitCode::ok;
}

ExitCode run_profile_show(const Command& self, std::span<const std::string> arguments,
                          const Context& context) {
  std::string name;
  std::vector<std::string> overrides;
  Options options(self);
  options.app().add_option("PROFILE", name, "a file, or a name of the library")->required();
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
  options.app().add_option("PROFILE", name, "a file, or a name of the library")->required();
  options.add_format();
  if (const auto stop = options.parse(arguments)) return *stop;
  const bool readable = toolkit::profile_exists(name);
  const Result<hwdesc::Profile> profile = toolkit::load_profile(name);
  const bool parsed = profile.ok();
  const Diags diags = parsed ? hwdesc::check(*profile) : profile.diags();
  if (!readable) return failed(diags, context);
  if (options.format() == Format::json)
    print_json(to_json(diags));
  else if (diags.empty())
    fmt::print("{}: nothing is wrong\n", name);
  else
    fmt::print("{}", render(diags));
  // A text that is no profile is bad input; a profile that lacks or contradicts something answers no.
  if (!parsed) return ExitCode::bad_input;
  return has_error(diags) ? ExitCode::no : ExitCode::ok;
}

namespace {

void print_counts(const std::vector<hwdesc::Difference>& differences) {
  const auto count = [&](hwdesc::Verdict v) {
    return std::count_if(differences.begin(), differences.end(), [&](const hwdesc::Difference& d) { return d.verdict == v; });
  };
  fmt::print("{} beyond their intervals, {} within, {} untold, {} circumstances\n", count(hwdesc::Verdict::beyond),
             count(hwdesc::Verdict::within), count(hwdesc::Verdict::untold), count(hwdesc::Verdict::circumstance));
}

}  // namespace

ExitCode run_profile_diff(const Command& self, std::span<const std::string> arguments,
                          const Context& context) {
  std::string left_name, right_name;
  Options options(self);
  options.app().add_option("LEFT", left_name, "a file, or a name of the library")->required();
  options.app().add_option("RIGHT", right_name, "the one to compare with")->required();
  options.add_format();
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<hwdesc::Profile> left = toolkit::load_profile(left_name),
                                right = toolkit::load_profile(right_name);
  if (!left) return failed(left.diags(), context);
  if (!right) return failed(right.diags(), context);
  const std::vector<hwdesc::Difference> differences = hwdesc::diff(*left, *right);
  if (options.format() == Format::json) {
    Json json = Json::array();
    for (const hwdesc::Difference& d : differences)
      json.push_back({{"path", d.path},
                      {"left", d.left},
                      {"right", d.right},
                      {"left_interval", d.left_interval},
                      {"right_interval", d.right_interval},
                      {"verdict", word_of(d.verdict)}});
    print_json(json);
  } else {
    fmt::print("{}", hwdesc::print_diff(differences));
    if (!differences.empty()) print_counts(differences);
  }
  return hwdesc::differs(differences) ? ExitCode::no : ExitCode::ok;
}

namespace {

Json to_json(const hwdesc::Merged& merged) {
  Json conflicts = Json::array();
  for (const hwdesc::Conflict& c : merged.conflicts)
    conflicts.push_back({{"path", c.path},
                         {"first", c.first},
                         {"second", c.second},
                         {"first_source", c.first_origin},
                         {"second_source", c.second_origin}});
  return {{"conflicts", conflicts}, {"taken", merged.taken}};
}

std::string with_origin(const std::string& value, const std::string& origin) {
  return origin.empty() ? value : value + " (" + origin + ")";
}

Diags to_diags(const std::vector<hwdesc::Conflict>& conflicts, Severity severity) {
  Diags out;
  for (const hwdesc::Conflict& c : conflicts)
    out.push_back({severity, "", 0, 0,
                   fmt::format("{}: the first says {}, the second {}", c.path, with_origin(c.first, c.first_origin),
                               with_origin(c.second, c.second_origin)),
                   "", ""});
  if (!out.empty() && severity == Severity::error)
    out.back().hint = "are both of one chip? `--prefer first` or `--prefer second` decides";
  return out;
}

struct MergeRequest {
  std::string first, second, output, prefer;
};

void declare(Options& options, MergeRequest& r) {
  options.app().add_option("FIRST", r.first, "a file, or a name of the library")->required();
  options.app().add_option("SECOND", r.second, "what to take values from that the first lacks")->required();
  options.app().add_option("-o,--output", r.output, "the profile to write (default: to stdout)")->type_name("FILE");
  options.app()
      .add_option("--prefer", r.prefer, "what stands where they disagree: first or second")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"first", "second"}));
  options.add_format({Format::yaml, Format::json});
}

// Where the profile goes, or what was done.
ExitCode conclude(const hwdesc::Merged& merged, const MergeRequest& r, bool disputed, Format format, const Context& context) {
  if (format == Format::json) print_json(to_json(merged));
  if (disputed) return ExitCode::no;
  const std::string text = toolkit::print_profile_text(merged.profile);
  if (!r.output.empty()) {
    if (const Diags unwritten = toolkit::write_text(r.output, text); !unwritten.empty()) return failed(unwritten, context);
    if (format != Format::json) fmt::print("{} values and entries of {} added\n-> {}\n", merged.taken.size(), r.second, r.output);
  } else if (format != Format::json) {
    fmt::print("{}", text);
  }
  return ExitCode::ok;
}

}  // namespace

ExitCode run_profile_merge(const Command& self, std::span<const std::string> arguments, const Context& context) {
  MergeRequest r;
  Options options(self);
  declare(options, r);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<hwdesc::Profile> first = toolkit::load_profile(r.first), second = toolkit::load_profile(r.second);
  if (!first) return failed(first.diags(), context);
  if (!second) return failed(second.diags(), context);
  std::optional<hwdesc::Prefer> prefer;
  if (!r.prefer.empty()) prefer = r.prefer == "second" ? hwdesc::Prefer::second : hwdesc::Prefer::first;
  const hwdesc::Merged merged = hwdesc::merge(*first, *second, prefer);
  const bool disputed = !merged.conflicts.empty() && !prefer;
  print_diags(to_diags(merged.conflicts, disputed ? Severity::error : Severity::warning));
  if (const Diags wrong = hwdesc::check(merged.profile); !disputed && has_error(wrong)) return failed(wrong, context, ExitCode::no);
  return conclude(merged, r, disputed, options.format(), context);
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
