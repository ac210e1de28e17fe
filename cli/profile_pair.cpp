// assay profile diff | merge
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "hwdesc/check.h"
#include "hwdesc/diff.h"
#include "hwdesc/merge.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"
#include "toolkit/profiles.h"

namespace assay::cli {

using toolkit::Json;

namespace {

void print_counts(const std::vector<hwdesc::Difference>& differences) {
  const auto count = [&](hwdesc::Verdict v) {
    return std::count_if(differences.begin(), differences.end(),
                         [&](const hwdesc::Difference& d) { return d.verdict == v; });
  };
  fmt::print("{} beyond their intervals, {} within, {} untold, {} circumstances\n",
             count(hwdesc::Verdict::beyond), count(hwdesc::Verdict::within),
             count(hwdesc::Verdict::untold), count(hwdesc::Verdict::circumstance));
}

}  // namespace

ExitCode run_profile_diff(const Command& self, std::span<const std::string> arguments,
                          const Context& context) {
  std::string left_name, right_name;
  Options options(self);
  options.add_option("LEFT", left_name, "file, or name in the library").required();
  options.add_option("RIGHT", right_name, "file, or name in the library").required();
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
  return {{"conflicts", conflicts}, {"taken", merged.added}};
}

std::string with_origin(const std::string& value, const std::string& origin) {
  return origin.empty() ? value : value + " (" + origin + ")";
}

std::string spoken(const hwdesc::Conflict& c) {
  if (c.first == "-")
    return fmt::format("{}: the first has none, the second has {}", c.path,
                       with_origin(c.second, c.second_origin));
  if (c.second == "-")
    return fmt::format("{}: the first has {}, the second has none", c.path,
                       with_origin(c.first, c.first_origin));
  return fmt::format("{}: the first says {}, the second {}", c.path,
                     with_origin(c.first, c.first_origin), with_origin(c.second, c.second_origin));
}

Diags to_diags(const std::vector<hwdesc::Conflict>& conflicts, Severity severity) {
  Diags out;
  for (const hwdesc::Conflict& c : conflicts)
    out.push_back({severity, "", 0, 0, spoken(c), "", ""});
  if (out.empty() || severity != Severity::error) return out;
  const bool styles =
      std::any_of(conflicts.begin(), conflicts.end(),
                  [](const hwdesc::Conflict& c) { return c.path == "execution.lanes.style"; });
  out.back().hint = fmt::format(
      "{}`--prefer first` or `--prefer second` decides",
      styles ? "one api sees lanes as vectors, the other as threads; " : "are both of one chip? ");
  return out;
}

struct MergeRequest {
  std::string first, second, output, prefer;
};

void declare(Options& options, MergeRequest& r) {
  options.add_option("FIRST", r.first, "file, or name in the library").required();
  options.add_option("SECOND", r.second, "profile with values that the first lacks").required();
  options.add_option("-o,--output", r.output, "profile to write (default: stdout)")
      .type_name("FILE");
  options.add_option("--prefer", r.prefer, "which one wins where they disagree: first or second")
      .type_name("WHICH")
      .one_of({"first", "second"});
  options.add_format({Format::yaml, Format::json});
}

std::string summary(const hwdesc::Merged& merged, const MergeRequest& r) {
  std::string out =
      fmt::format("{} values and entries of {} added\n", merged.added.size(), r.second);
  if (!merged.conflicts.empty())
    out += fmt::format("where both disagree ({}), {} stands\n", merged.conflicts.size(),
                       r.prefer == "second" ? r.second : r.first);
  return out;
}

// Writes the profile, and reports it.
ExitCode conclude(const hwdesc::Merged& merged, const MergeRequest& r, bool disputed, Format format,
                  const Context& context) {
  if (format == Format::json) print_json(to_json(merged));
  if (disputed) return ExitCode::no;
  const std::string text = toolkit::print_profile_text(merged.profile);
  if (!r.output.empty()) {
    if (const Diags unwritten = write_text(r.output, text); !unwritten.empty())
      return failed(unwritten, context);
    if (format != Format::json) fmt::print("{}-> {}\n", summary(merged, r), r.output);
  } else if (format != Format::json) {
    fmt::print("{}", text);
  }
  return ExitCode::ok;
}

// A probe does not know mobile GPUs: it calls each a gpu.
bool of_other_kinds(const hwdesc::Profile& a, const hwdesc::Profile& b) {
  const auto kind = [](const hwdesc::Profile& p) {
    return p.chip_class == "mobile_gpu" ? std::string("gpu") : p.chip_class;
  };
  return !kind(a).empty() && !kind(b).empty() && kind(a) != kind(b);
}

}  // namespace

ExitCode run_profile_merge(const Command& self, std::span<const std::string> arguments,
                           const Context& context) {
  MergeRequest r;
  Options options(self);
  declare(options, r);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<hwdesc::Profile> first = toolkit::load_profile(r.first),
                                second = toolkit::load_profile(r.second);
  if (!first) return failed(first.diags(), context);
  if (!second) return failed(second.diags(), context);
  if (of_other_kinds(*first, *second))
    return failed({error(fmt::format("'{}' is a {} and '{}' a {}: no chip is both", first->name,
                                     first->chip_class, second->name, second->chip_class),
                         "merge joins what several apis see of one chip")},
                  context);
  std::optional<hwdesc::Prefer> prefer;
  if (!r.prefer.empty())
    prefer = r.prefer == "second" ? hwdesc::Prefer::second : hwdesc::Prefer::first;
  const hwdesc::Merged merged = hwdesc::merge(*first, *second, prefer);
  const bool disputed = !merged.conflicts.empty() && !prefer;
  print_diags(to_diags(merged.conflicts, disputed ? Severity::error : Severity::warning));
  if (const Diags wrong = hwdesc::check(merged.profile); !disputed && has_error(wrong))
    return failed(wrong, context, ExitCode::no);
  return conclude(merged, r, disputed, options.format(), context);
}

}  // namespace assay::cli
