// assay report
#include "toolkit/report.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "support/files/files.h"
#include "toolkit/estimate_json.h"

namespace assay::cli {
namespace {

struct Request {
  std::string bundle, output, before;
  toolkit::ReportOptions report;
};

void declare(Options& options, Request& r) {
  options.add_option("DIR", r.bundle, "bundle that `assay compile` wrote").required();
  options.add_option("-o,--output", r.output, "page to write").type_name("PAGE.html").required();
  options
      .add_option("--before", r.before,
                  "none or elementwise: the plan beside it (default: the next simpler one)")
      .type_name("WHAT")
      .one_of({"none", "elementwise"});
  options.add_format();
}

Result<toolkit::Report> report(Request& r, const Context& context) {
  if (const Diags unwritable = check_writable(r.output); !unwritable.empty()) return unwritable;
  Result<std::string> graphviz = toolkit::find_graphviz();
  if (!graphviz) return graphviz.diags();
  r.report.graphviz = std::move(*graphviz);
  const Result<toolkit::Bundle> bundle = toolkit::read_bundle(r.bundle);
  if (!bundle) return bundle.diags();
  r.report.before = r.before == "none"          ? compiler::Fuse::none
                    : r.before == "elementwise" ? compiler::Fuse::elementwise
                                                : toolkit::simpler_than(bundle->plan);
  ProgressLine progress(context);
  r.report.progress = progress.callback();
  r.report.cancel = context.cancel;
  Result<toolkit::Report> out = toolkit::report_of(*bundle, r.report);
  if (!out) return out;
  const Diags unwritten = write_text(r.output, out->page);
  if (!unwritten.empty()) return unwritten;
  return out;
}

}  // namespace

ExitCode run_report(const Command& self, std::span<const std::string> arguments,
                    const Context& context) {
  Request request;
  Options options(self);
  declare(options, request);
  if (const auto stop = options.parse(arguments)) return *stop;
  const Result<toolkit::Report> r = report(request, context);
  if (!r) return failed(r.diags(), context);
  if (options.format() == Format::json) {
    print_json(toolkit::Json{{"page", request.output},
                             {"steps_before", r->steps_before},
                             {"steps", r->steps},
                             {"predicted_before_s", r->seconds_before},
                             {"predicted_s", r->seconds}});
    return ExitCode::ok;
  }
  fmt::print("before: {} steps, predicted {}\nafter: {} steps, predicted {}\n-> {}\n",
             r->steps_before, duration(r->seconds_before), r->steps, duration(r->seconds),
             request.output);
  return ExitCode::ok;
}

}  // namespace assay::cli
