// Kept times against estimates of the model of today.
#include <algorithm>

#include "lower/lower.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_draw.h"
#include "toolkit/validate_journal.h"

namespace assay::toolkit {
namespace {

Diag of_program(Diag d, const std::string& op, const ProgramRow& row) {
  d.message = op + ", program " + row.id + ": " + d.message;
  return d;
}

Diags estimate_again(const std::string& op, ProgramRow& row, const hwdesc::Target& target,
                     const model::Machine& machine) {
  const Result<ir::Program> program = ir::parse_program(row.program, op);
  if (!program) return program.diags();
  const Result<ir::Kernel> kernel = lower::lower(*program, target);
  if (!kernel) return {of_program(kernel.diags()[0], op, row)};
  const lower::Counts counts = lower::count(*kernel);
  row.estimate = warm_estimate(*program, machine, &counts);
  return {};
}

// The drawn program that would be chosen.
void choose_first(std::vector<ProgramRow>& rows) {
  ProgramRow* least = nullptr;
  for (ProgramRow& r : rows) {
    r.first = false;
    if (r.drawn != Drawn::neighbour &&
        (least == nullptr || r.estimate.seconds < least->estimate.seconds))
      least = &r;
  }
  if (least != nullptr) least->first = true;
}

}  // namespace

Result<Validation> judge_again(const hwdesc::Profile& profile, const std::string& journal,
                               const std::string& api, const Progress& progress,
                               const CancelToken* cancel) {
  Result<KeptValidation> kept = read_kept_validation(journal);
  if (!kept) return kept.diags();
  const Result<hwdesc::Target> target = target_of(profile, api.empty() ? kept->run.api : api);
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  Validation out;
  out.suite = journal;
  out.profile = profile.name;
  out.api = target->api.name;
  out.fma_rate = machine->fma_rate.value;
  out.device = kept->run.device;
  out.total = static_cast<int>(kept->operators.size());
  for (OperatorRows& o : kept->operators) {
    if (cancelled(cancel)) break;
    report(progress, static_cast<int64_t>(out.operators.size()), out.total, o.name);
    for (ProgramRow& row : o.rows)
      if (Diags failed = estimate_again(o.name, row, *target, *machine); !failed.empty())
        return failed;
    choose_first(o.rows);
    out.operators.push_back(std::move(o));
  }
  return out;
}

}  // namespace assay::toolkit
