#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/command.h"
#include "support/edit_distance.h"
#include "support/version.h"

namespace assay::cli {
namespace {

constexpr Command kCommands[] = {
    {"devices",
     "list the devices of this machine, and why others are absent",
     "[--format json]",
     {"devices", "devices --format json"},
     run_devices},
    {"probe",
     "measure a device into a profile",
     "--device ID -o DIR|PROFILE.yaml [options]",
     {"probe --device cpu:0 --budget full -o my-cpu", "probe --from my-cpu -o profile.yaml"},
     run_probe},
    {"profile list",
     "list the library's profiles",
     "[--format json]",
     {"profile list", "profile list --format json"},
     run_profile_list},
    {"profile show",
     "show a profile's values with intervals and origins",
     "PROFILE [options]",
     {"profile show profile.yaml",
      "profile show profile.yaml --set 'memory.dram.bandwidth*=2' --format yaml"},
     run_profile_show},
    {"profile check",
     "check a profile; exit 1 if it has errors",
     "PROFILE [options]",
     {"profile check profile.yaml", "profile check a100-sxm4-40gb --format json"},
     run_profile_check},
    {"profile diff",
     "compare two profiles; exit 1 if they differ beyond their intervals",
     "LEFT RIGHT [options]",
     {"profile diff old.yaml new.yaml", "profile diff a100-sxm4-40gb a100-wide"},
     run_profile_diff},
    {"profile merge",
     "merge two profiles of one chip, measured through two apis",
     "FIRST SECOND [options]",
     {"profile merge my-cpu my-opencl -o both.yaml",
      "profile merge my-cpu my-opencl --prefer first -o both.yaml"},
     run_profile_merge},
    {"profile schema",
     "print the format of profiles: a JSON Schema, or the reference page",
     "[--format json|markdown]",
     {"profile schema > profile.schema.json", "profile schema --format markdown"},
     run_profile_schema},
    {"compile",
     "compile a model for a profile into a bundle",
     "(MODEL.onnx | --op TEXT) --profile P -o DIR [options]",
     {"compile resnet50.onnx --type f16 --profile profile.yaml -o bundle"},
     run_compile},
    {"run",
     "run a bundle; print predicted beside measured times",
     "DIR [options]",
     {"run bundle --device cpu:0 --repeat 30 --check"},
     run_run},
    {"simulate",
     "predict the time of a bundle, a plan or a program",
     "DIR | PLAN.yaml | PROGRAM.yaml [options]",
     {"simulate bundle --profile a100-sxm4-40gb --rechoose",
      "simulate bundle --set 'memory.dram.bandwidth*=2' --explain"},
     run_simulate},
    {"report",
     "draw a bundle's steps, traffic and times as one page",
     "DIR -o PAGE.html [options]",
     {"report bundle -o page.html", "report bundle --before none -o page.html"},
     run_report},
    {"estimate",
     "predict the time of operators or a model from a profile alone",
     "(MODEL.onnx | --op TEXT | --batch-file F) --profile P [options]",
     {"estimate --op 'matmul m=4096 n=4096 k=4096 type=bf16' --profile h200 --software library",
      "estimate --batch-file operators.txt --profile mi210 --format csv"},
     run_estimate},
    {"whatif",
     "compare a chip with a changed one; say which numbers matter",
     "(MODEL.onnx | --op TEXT) --profile P [options] [--against ...]",
     {"whatif --op 'matmul m=4096 n=4096 k=4096' --profile a100-sxm4-40gb --sensitivity",
      "whatif net.onnx --profile adreno-640 --against --set 'memory.l2.capacity*=2'"},
     run_whatif},
    {"accuracy",
     "hold estimates against published measurements, beside rooflines",
     "[options]",
     {"accuracy --report accuracy.html", "accuracy --device nvidia/t4 --format json"},
     run_accuracy},
    {"validate",
     "measure the errors of predictions over many programs",
     "--profile P -o TABLE.csv [options]",
     {"validate --profile profile.yaml --suite quick -o table.csv",
      "validate --profile profile.yaml -o table.csv --resume --format json"},
     run_validate},
    {"validate fusion",
     "measure how often steps are rightly computed together",
     "--profile P -o TABLE.csv [options]",
     {"validate fusion --profile profile.yaml -o fusion.csv",
      "validate fusion --profile profile.yaml -o fusion.csv --resume --format json"},
     run_validate_fusion},
    {"validate schedules",
     "measure how well times of schedules are predicted",
     "MODEL.onnx... --profile P -o TABLE.csv [options]",
     {"validate schedules model.onnx --profile profile.yaml -o schedules.csv"},
     run_validate_schedules},
    {"calibrate",
     "fit a correction of the model to a device's times",
     "(JOURNAL... | --data TIMES.csv) --profile P -o FILE.yaml [options]",
     {"calibrate table.journal --profile profile.yaml -o calibration.yaml",
      "calibrate --data times.csv --launch graph --profile a100-sxm4-80gb -o factors.yaml"},
     run_calibrate},
};

std::string overview() {
  std::string out =
      "assay measures a chip into a profile, predicts from it how fast tensor programs run,\n"
      "and compiles models for the fastest prediction.\n\nusage: assay COMMAND [options]\n\n";
  for (const Command& c : kCommands) out += fmt::format("  {:<15} {}\n", c.name, c.summary);
  return out +
         "\n`assay COMMAND --help` explains one command; `assay --version` prints the version.\n"
         "exit codes: 0 ok, 1 the answer is no, 2 bad input, 3 device unavailable, 70 internal, "
         "130 interrupted\n";
}

// Names near what was typed: whole ones, and the groups (`profile`) of a single word.
std::vector<std::string> candidates(std::span<const std::string> words) {
  std::vector<std::string> out;
  for (const Command& c : kCommands) {
    const std::string name(c.name);
    out.push_back(name);
    const size_t space = name.find(' ');
    if (space != std::string::npos && words.size() < 2) out.push_back(name.substr(0, space));
  }
  return out;
}

bool is_group(const std::string& word) {
  return std::any_of(std::begin(kCommands), std::end(kCommands),
                     [&](const Command& c) { return c.name.starts_with(word + " "); });
}

std::string group_help(const std::string& group) {
  std::string out = "usage: assay " + group + " COMMAND [options]\n\n";
  for (const Command& c : kCommands)
    if (c.name.starts_with(group + " ")) out += fmt::format("  {:<15} {}\n", c.name, c.summary);
  return out + "\n`assay " + group + " COMMAND --help` explains one command.\n";
}

bool wants_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

ExitCode unknown_command(std::span<const std::string> words) {
  std::string typed = words[0];
  if (is_group(typed) && words.size() > 1) typed += " " + words[1];
  const std::string near = nearest(typed, candidates(words));
  fmt::print(stderr, "assay: there is no command '{}'\n", typed);
  if (near.empty())
    fmt::print(stderr, "hint: `assay --help` lists the commands\n");
  else
    fmt::print(stderr, "hint: did you mean '{}'?\n", near);
  return ExitCode::bad_input;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::span<const std::string> words, size_t& name_words) {
  for (const size_t count : {size_t{2}, size_t{1}}) {
    if (words.size() < count) continue;
    const std::string name = count == 1 ? words[0] : words[0] + " " + words[1];
    for (const Command& c : kCommands)
      if (c.name == name) {
        name_words = count;
        return &c;
      }
  }
  return nullptr;
}

ExitCode run_words(std::span<const std::string> words, const Context& context) {
  if (words.empty()) {
    fmt::print(stderr, "{}", overview());
    return ExitCode::bad_input;
  }
  if (words[0] == "--version") {
    fmt::print("assay {}\n", kVersion);
    return ExitCode::ok;
  }
  size_t name_words = 0;
  if (wants_help(words[0])) {
    const std::span<const std::string> rest = words.subspan(1);
    const Command* asked = find_command(rest, name_words);
    if (asked != nullptr) return asked->run(*asked, std::vector<std::string>{"--help"}, context);
    if (!rest.empty() && !is_group(rest[0])) return unknown_command(rest);
    fmt::print("{}", rest.empty() ? overview() : group_help(rest[0]));
    return ExitCode::ok;
  }
  if (const Command* command = find_command(words, name_words))
    return command->run(*command, words.subspan(name_words), context);
  if (is_group(words[0]) && (words.size() == 1 || wants_help(words[1]))) {
    fmt::print("{}", group_help(words[0]));
    return words.size() == 1 ? ExitCode::bad_input : ExitCode::ok;
  }
  return unknown_command(words);
}

}  // namespace assay::cli
