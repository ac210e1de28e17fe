// Options of one command. CLI11 parses; help and messages are ours: help fits one screen, and an
// unknown option gets a hint.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/console/command.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace assay::console {

// Where the text of an option begins in the help; further lines of a text are indented to it.
inline constexpr int kHelpColumn = 27;

enum class Format { text, json, csv, yaml, hash, markdown };

// One of a command's options, with CLI11's names for its properties.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}
  Option& type_name(const std::string& name);
  Option& required();
  Option& capture_default_str();
  Option& allow_extra_args(bool several);
  Option& excludes(const Option& other);
  Option& range(int least, int most);
  Option& one_of(const std::vector<std::string>& words);

 private:
  CLI::Option* option_;
};

class Options {  // invariant: `app_` has the command's options, and parses once
 public:
  explicit Options(const Command& command);
  ~Options();

  // An option without a text is none that the help shows: the usage line says what it is.
  Option add_option(const std::string& names, std::string& to, const std::string& text);
  Option add_option(const std::string& names, std::vector<std::string>& to,
                    const std::string& text);
  Option add_option(const std::string& names, int& to, const std::string& text);
  Option add_option(const std::string& names, uint64_t& to, const std::string& text);
  Option add_flag(const std::string& names, bool& to, const std::string& text);
  void add_format(std::vector<Format> forms = {
                      Format::text, Format::json});  // --format; the first is the default
  void add_overrides(std::vector<std::string>& to);  // --set, any number

  // nullopt: run the command. Help: printed, ok. Faults: printed with a hint, bad_input.
  std::optional<ExitCode> parse(std::span<const std::string> arguments);

  Format format() const { return format_; }

 private:
  std::string help() const;
  ExitCode complain(const std::string& message) const;

  const Command& command_;
  std::unique_ptr<CLI::App> app_;
  std::string format_name_;
  Format format_ = Format::text;
  bool help_wanted_ = false;
};

}  // namespace assay::console
