// Options of one command: CLI11 parses, we print. Help fits one screen, an unknown option gets a
// hint.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "console/command.h"

namespace assay::console {

enum class Format { text, json, yaml, hash, markdown };

class Options {  // invariant: `app_` holds the command's options and nothing is parsed twice
 public:
  explicit Options(const Command& command);

  CLI::App& app() { return app_; }
  void add_format(std::vector<Format> forms = {Format::text, Format::json});  // --format; the first is the default
  void add_overrides(std::vector<std::string>& to);  // --set, any number

  // nullopt: go on. Help: printed, ok. Faults: printed with a hint, bad_input.
  std::optional<ExitCode> parse(std::span<const std::string> arguments);

  Format format() const { return format_; }

 private:
  std::string help() const;
  ExitCode complain(const std::string& message) const;

  const Command& command_;
  CLI::App app_;
  std::string format_name_;
  Format format_ = Format::text;
  bool help_wanted_ = false;
};

}  // namespace assay::console
