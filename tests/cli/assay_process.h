// Runs the built `assay` or `assay-probe` as a child, and captures its output.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay::test {

struct Outcome {
  int code = -1;  // exit code; 128 + signal when one ended it
  std::string out, err;
};

using Environment = std::map<std::string, std::string>;  // set on top of ours

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const Environment& environment = {});
Outcome run_assay(const std::vector<std::string>& arguments, const Environment& environment = {});

Outcome run_assay_probe(const std::vector<std::string>& arguments,
                        const Environment& environment = {});

// As run_assay, but sends `signal` after `seconds`.
Outcome run_assay_and_signal(const std::vector<std::string>& arguments, int signal, double seconds);

}  // namespace assay::test
