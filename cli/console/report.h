// Output of commands: results to stdout, everything else to stderr.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/console/command.h"
#include "runtime/device.h"
#include "support/diag.h"

namespace assay::console {

void print_diags(const Diags& diags);                 // stderr
void print_json(const nlohmann::ordered_json& json);  // stdout

// Prints the errors. Returns `code`, or `interrupted` after Ctrl-C.
ExitCode failed(const Diags& diags, const Context& context, ExitCode code = ExitCode::bad_input);

// On a terminal one line that is redrawn; else at most a line every ten seconds.
class ProgressLine {  // invariant: shown_ if and only if a line has to be cleared
 public:
  explicit ProgressLine(const Context& context) : context_(context) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  runtime::Progress callback();  // valid as long as this object
  void clear();

 private:
  void show(int64_t done, int64_t total, const std::string& what);

  const Context& context_;
  bool shown_ = false;
  double last_ = 0;
};

}  // namespace assay::console
