// assay validate fusion
#include "toolkit/validate_fusion.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "cli/model_options.h"
#include "support/files/files.h"
#include "toolkit/profiles.h"

namespace assay::cli {
namespace {

struct Request {
  std::string profile, output;
  std::vector<std::string> overrides;
  toolkit::FusionOptions fusion;
};

void declare(Options& options, Request& r) {
  options.add_option("--profile", r.profile, "file, or name in the library")
      .type_name("PROFILE")
      .required();
  options.add_option("-o,--output", r.output, "table to write, and a .journal file beside it")
      .type_name("FILE.csv")
      .required();
  options.add_option("--device", r.fusion.device, "see `assay devices`")
      .type_name("ID")
      .capture_default_str();
  options.add_option("--chains", r.fusion.chains, "chains of operators to draw")
      .type_name("N")
      .capture_default_str()
      .range(1, 10000);
  options.add_option("--rounds", r.fusion.rounds, "samples per plan, of which the median counts")
      .type_name("N")
      .capture_default_str()
      .range(1, 1000);
  options.add_option("--seed", r.fusion.seed, "seed for drawing chains and inputs")
      .type_name("N")
      .capture_default_str();
  options.add_option("--api", r.fusion.api, "api of the profile (default: its first)")
      .type_name("NAME");
  options.add_flag("--resume", r.fusion.resume, "run only the chains that the journal lacks");
  options.add_overrides(r.overrides);
  options.add_format();
}

Result<hwdesc::Profile> prepare(Request& r) {
  if (!r.output.ends_with(".csv"))
    return error("-o " + r.output + ": the table is CSV", "such as -o fusion.csv");
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  r.fusion.journal = r.output.substr(0, r.output.size() - 4) + ".journal";
  if (r.fusion.resume && !file_exists(r.fusion.journal))
    return error("--resume: there is no journal " + r.fusion.journal, "leave it out to start anew");
  Result<hwdesc::Profile> profile = toolkit::load_profile(r.profile);
  return profile ? toolkit::apply_overrides(std::move(*profile), r.overrides) : profile;
}

std::string decision(const toolkit::FusionRow& r) {
  return r.chosen.steps == r.separate.steps   ? "separate"
         : r.chosen.steps == r.together.steps ? "together"
                                              : fmt::format("{} steps", r.chosen.steps);
}

void print_text(const toolkit::FusionValidation& v, const toolkit::FusionScore& s) {
  std::vector<std::vector<std::string>> rows = {
      {"chain", "steps", "separate", "together", "predicted", "chosen", "measured"}};
  for (const toolkit::FusionRow& r : v.rows)
    rows.push_back(
        {shortened(r.chain, 64), fmt::format("{} -> {}", r.separate.steps, r.together.steps),
         duration(r.separate.measured), duration(r.together.measured),
         fmt::format("{} -> {}", duration(r.separate.predicted), duration(r.together.predicted)),
         decision(r), duration(r.chosen.measured)});
  fmt::print("{}\n{} chains on {}, profile {}; {} wrong\n", table(rows), s.chains, v.device,
             v.profile, s.wrong);
  fmt::print(
      "{} take as long in both ways, or are one plan; of the {} others {} are faster together, and "
      "the model chose the faster way for {}\nwhat it chose takes {:.3f} of the faster way "
      "(geometric mean of all)\n",
      s.alike, s.differing, s.together, s.right, s.lost);
}

}  // namespace

ExitCode run_validate_fusion(const Command& self, std::span<const std::string> arguments,
                             const Context& context) {
  Request r;
  Options options(self);
  declare(options, r);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<hwdesc::Profile> profile = prepare(r);
  if (!profile) return failed(profile.diags(), context);
  if (const Diags fault = device_fault(*profile, r.fusion.api, r.fusion.device); !fault.empty())
    return failed(fault, context, ExitCode::device_unavailable);
  ProgressLine progress(context);
  r.fusion.progress = progress.callback();
  r.fusion.cancel = context.cancel;
  const Result<toolkit::FusionValidation> v = toolkit::validate_fusion(*profile, r.fusion);
  progress.clear();
  if (!v) return failed(v.diags(), context);
  const toolkit::FusionScore score = toolkit::score_of(*v);
  if (const Diags unwritten = write_text(r.output, toolkit::print_csv(*v)); !unwritten.empty())
    return failed(unwritten, context);
  if (options.format() == Format::json)
    print_json(toolkit::to_json(*v, score));
  else
    print_text(*v, score);
  if (static_cast<int>(v->rows.size()) == r.fusion.chains)
    return score.wrong == 0 ? ExitCode::ok : ExitCode::no;
  fmt::print(stderr, "interrupted after {} of {} chains; --resume continues\n", v->rows.size(),
             r.fusion.chains);
  return ExitCode::interrupted;
}

}  // namespace assay::cli
