#include "cli/console/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "support/edit_distance.h"

namespace assay::console {

std::string called(const Command& command) {
  return fmt::format("{}{}{}", command.program, command.name.empty() ? "" : " ", command.name);
}

Option& Option::type_name(const std::string& name) { return option_->type_name(name), *this; }
Option& Option::required() { return option_->required(), *this; }
Option& Option::capture_default_str() { return option_->capture_default_str(), *this; }
Option& Option::allow_extra_args(bool several) { return option_->allow_extra_args(several), *this; }
Option& Option::excludes(const Option& other) { return option_->excludes(other.option_), *this; }
Option& Option::range(int least, int most) {
  return option_->check(CLI::Range(least, most)), *this;
}
Option& Option::one_of(const std::vector<std::string>& words) {
  return option_->check(CLI::IsMember(words)), *this;
}

Options::Options(const Command& command) : command_(command), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag();
  add_flag("-h,--help", help_wanted_, "print this help");
}

Options::~Options() = default;

Option Options::add_option(const std::string& names, std::string& to, const std::string& text) {
  return Option(*app_->add_option(names, to, text));
}
Option Options::add_option(const std::string& names, std::vector<std::string>& to,
                           const std::string& text) {
  return Option(*app_->add_option(names, to, text));
}
Option Options::add_option(const std::string& names, int& to, const std::string& text) {
  return Option(*app_->add_option(names, to, text));
}
Option Options::add_option(const std::string& names, uint64_t& to, const std::string& text) {
  return Option(*app_->add_option(names, to, text));
}
Option Options::add_flag(const std::string& names, bool& to, const std::string& text) {
  return Option(*app_->add_flag(names, to, text));
}

namespace {

constexpr std::pair<Format, const char*> kFormats[] = {
    {Format::text, "text"}, {Format::json, "json"}, {Format::csv, "csv"},
    {Format::yaml, "yaml"}, {Format::hash, "hash"}, {Format::markdown, "markdown"}};

std::string name_of(Format format) {
  for (const auto& [f, name] : kFormats)
    if (f == format) return name;
  return "";
}

Format format_of(const std::string& name) {
  for (const auto& [f, known] : kFormats)
    if (name == known) return f;
  return Format::text;
}

}  // namespace

void Options::add_format(std::vector<Format> forms) {
  std::vector<std::string> names;
  std::string description;
  for (size_t i = 0; i < forms.size(); ++i) {
    names.push_back(name_of(forms[i]));
    description += (i == 0 ? "" : i + 1 == forms.size() ? " or " : ", ") + names.back();
  }
  format_name_ = names.front();
  add_option("--format", format_name_, description).type_name("FORM").one_of(names);
}

void Options::add_overrides(std::vector<std::string>& to) {
  add_option("--set", to, "change the profile: `path=value`, `path*=2`; repeatable")
      .type_name("CHANGE")
      .allow_extra_args(false);
}

std::optional<ExitCode> Options::parse(std::span<const std::string> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  for (const std::string& a : arguments)
    if (a == "-h" || a == "--help") {
      fmt::print("{}", help());
      return ExitCode::ok;
    }
  try {
    app_->parse(reversed);
  } catch (const CLI::ExtrasError&) {
    return complain("");
  } catch (const CLI::ParseError& e) {
    return complain(e.what());
  }
  format_ = format_of(format_name_);
  return std::nullopt;
}

namespace {

// CLI11 appends `:check` to the names of types.
std::string value_name(const CLI::Option& o) {
  const std::string name = o.get_type_name();
  return name.substr(0, name.find(':'));
}

std::string first_column(const CLI::Option& o) {
  if (o.get_positional()) return o.get_name(true);
  std::string out = o.get_name(false, true);
  for (size_t comma = out.find(','); comma != std::string::npos; comma = out.find(',', comma + 2))
    out.insert(comma + 1, " ");
  return o.get_expected_max() > 0 ? out + " " + value_name(o) : out;
}

}  // namespace

std::string Options::help() const {
  std::string out =
      fmt::format("usage: {} {}\n\n{}\n\n", called(command_), command_.arguments, command_.summary);
  for (const CLI::Option* o : app_->get_options()) {
    std::string text = o->get_description();
    if (text.empty()) continue;
    if (!o->get_default_str().empty()) text += fmt::format(" (default {})", o->get_default_str());
    out += fmt::format("  {:<{}} {}\n", first_column(*o), kHelpColumn - 3, text);
  }
  const auto& [first, second] = command_.examples;
  return out + (second.empty() ? fmt::format("\nexample: {} {}\n", command_.program, first)
                               : fmt::format("\nexamples:\n  {0} {1}\n  {0} {2}\n",
                                             command_.program, first, second));
}

// The first unknown word gets a hint if an option is similar.
ExitCode Options::complain(const std::string& message) const {
  const std::vector<std::string> extras = app_->remaining();
  std::string hint = fmt::format("`{} --help` explains the command", called(command_));
  std::string text = message;
  if (!extras.empty()) {
    text = fmt::format("unknown {} '{}'", extras[0].starts_with("-") ? "option" : "argument",
                       extras[0]);
    std::vector<std::string> names;
    for (const CLI::Option* o : app_->get_options())
      for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
    const std::string near = nearest(extras[0].substr(0, extras[0].find('=')), names);
    if (!near.empty()) hint = fmt::format("did you mean '{}'?", near);
  }
  fmt::print(stderr, "{}: {}\nhint: {}\n", called(command_), text, hint);
  return ExitCode::bad_input;
}

}  // namespace assay::console
