// The program `assay-probe`: `assay probe` and `assay devices`, for machines on which nothing else
// is installed.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/console/command.h"
#include "cli/console/entry.h"
#include "support/edit_distance.h"
#include "support/version.h"

namespace assay::probe_program {
namespace {

using console::Command;
using console::Context;
using console::ExitCode;

constexpr Command kProbe = {
    "",
    "measure a device into a profile; `assay-probe devices` lists the devices",
    "--device ID -o DIR|PROFILE.yaml [options]",
    {"--device opencl:0 -o my-board", "--from my-board"},
    console::run_probe,
    "assay-probe"};

constexpr Command kDevices = {"devices",
                              "list the devices of this machine, and why others are absent",
                              "[--format json]",
                              {"devices", "devices --format json"},
                              console::run_devices,
                              "assay-probe"};

ExitCode unknown(const std::string& word) {
  const std::string near =
      nearest(word, std::vector<std::string>{"devices", "--version", "--help"});
  fmt::print(stderr, "assay-probe: there is no command '{}'\nhint: {}\n", word,
             near.empty() ? "`assay-probe --help` explains the program"
                          : fmt::format("did you mean '{}'?", near));
  return ExitCode::bad_input;
}

ExitCode run_words(std::span<const std::string> words, const Context& context) {
  if (words.empty() || words[0].starts_with('-')) {
    if (words.empty() || words[0] != "--version") return kProbe.run(kProbe, words, context);
    fmt::print("assay-probe {}\n", kVersion);
    return ExitCode::ok;
  }
  if (words[0] == kDevices.name) return kDevices.run(kDevices, words.subspan(1), context);
  if (words[0] == "help") return kProbe.run(kProbe, std::vector<std::string>{"--help"}, context);
  return unknown(words[0]);
}

}  // namespace
}  // namespace assay::probe_program

int main(int argc, char** argv) {
  return assay::console::enter("assay-probe", argc, argv, assay::probe_program::run_words);
}
