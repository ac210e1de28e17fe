#include "cli/console/report.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/console/table.h"

namespace assay::console {
namespace {

constexpr double kRedraw = 0.1, kNewLine = 10;  // seconds between lines, terminal or not

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string bar(int64_t done, int64_t total) {
  constexpr int64_t kWidth = 24;
  const int64_t full = total > 0 ? std::min(kWidth, done * kWidth / total) : 0;
  return "[" + std::string(static_cast<size_t>(full), '=') +
         std::string(static_cast<size_t>(kWidth - full), ' ') + "]";
}

}  // namespace

void print_diags(const Diags& diags) {
  if (diags.empty()) return;
  std::fflush(stdout);
  fmt::print(stderr, "{}", render_kinds(diags));
}

void print_json(const nlohmann::ordered_json& json) { fmt::print("{}\n", json.dump(2)); }

ExitCode failed(const Diags& diags, const Context& context, ExitCode code) {
  if (context.cancelled()) {
    std::fflush(stdout);
    fmt::print(stderr, "interrupted\n");
    return ExitCode::interrupted;
  }
  print_diags(diags);
  return code;
}

runtime::Progress ProgressLine::callback() {
  last_ = context_.terminal ? 0 : now();
  return [this](int64_t done, int64_t total, const std::string& what) { show(done, total, what); };
}

void ProgressLine::show(int64_t done, int64_t total, const std::string& what) {
  const double time = now();
  if (time - last_ < (context_.terminal ? kRedraw : kNewLine)) return;
  last_ = time;
  if (!context_.terminal) {
    fmt::print(stderr, "  {} of {}  {}\n", done, total, what);
    return;
  }
  fmt::print(stderr, "\r\033[K{} {}/{} {}", bar(done, total), done, total, shortened(what, 44));
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace assay::console
