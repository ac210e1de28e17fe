#include "runtime/cpu/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <set>

#include "codegen/render.h"
#include "runtime/source.h"
#include "support/process/process.h"

namespace assay::runtime::cpu {
namespace {

namespace fs = std::filesystem;

// More would make progress and cancellation coarse; fewer would start the compiler too often.
constexpr size_t kMostKernelsPerUnit = 20;

struct TranslationUnit {
  std::vector<size_t> kernels;  // positions in the request
  size_t size = 0;
};

struct Builder {
  const BuildRequest& request;
  KernelCache& cache;
  std::vector<Source> sources;
  fs::path work{};
  int64_t done = 0, total = 0;
  Diags diags{};

  std::vector<size_t> missing();
  std::vector<TranslationUnit> balance(const std::vector<size_t>& kernels) const;
  std::optional<process::Command> command_for(const TranslationUnit& unit, const std::string& stem);
  std::vector<TranslationUnit> compile(const std::vector<TranslationUnit>& units,
                                       const std::string& round);
  bool keep_result(const TranslationUnit& unit, const std::string& stem);
  void report(const TranslationUnit& unit, const process::Outcome& outcome,
              const std::string& stem);
  bool build_missing(const std::vector<size_t>& kernels);
};

std::vector<size_t> Builder::missing() {
  std::set<std::string> seen;
  std::vector<size_t> out;
  for (size_t i = 0; i < sources.size(); ++i)
    if (seen.insert(sources[i].hash).second && !cache.find(sources[i].hash)) out.push_back(i);
  return out;
}

// Longest-processing-time scheduling: largest first, each to the lightest translation unit.
std::vector<TranslationUnit> Builder::balance(const std::vector<size_t>& kernels) const {
  const auto parallel = static_cast<size_t>(request.parallel);
  const size_t per_round = kMostKernelsPerUnit * parallel;
  const size_t rounds = (kernels.size() + per_round - 1) / per_round;
  std::vector<TranslationUnit> units(std::min(kernels.size(), rounds * parallel));
  std::vector<size_t> order = kernels;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources[a].size > sources[b].size; });
  for (const size_t k : order) {
    auto lightest = std::min_element(units.begin(), units.end(),
                                     [](const auto& a, const auto& b) { return a.size < b.size; });
    lightest->kernels.push_back(k);
    lightest->size += sources[k].size;
  }
  return units;
}

std::optional<process::Command> Builder::command_for(const TranslationUnit& unit,
                                                     const std::string& stem) {
  std::vector<ir::Kernel> kernels;
  for (const size_t k : unit.kernels)
    kernels.push_back(named(request.kernels[k], symbol_of(sources[k])));
  const auto text = codegen::render(kernels, request.dialect);
  ASSAY_CHECK(text.ok());  // each of them was rendered before
  const std::string base = (work / stem).string();
  if (!write_file(base + ".cpp", *text)) {
    diags.push_back(error(fmt::format("'{}.cpp' can not be written", base), "is the disk full?"));
    return std::nullopt;
  }
  process::Command c{{request.compiler.path}, base + ".log"};
  const auto flags = request.compiler.flags(request.options.optimization);
  c.argv.insert(c.argv.end(), flags.begin(), flags.end());
  c.argv.insert(c.argv.end(), {base + ".cpp", "-o", base + ".so"});
  return c;
}

// Stack use of each kernel from the compiler's .su files:
// "file:line:col:signature<tab>bytes<tab>kind".
int64_t stack_of(const std::string& reports, const std::string& symbol) {
  int64_t most = -1;
  for (size_t at = reports.find(symbol); at != std::string::npos;
       at = reports.find(symbol, at + 1)) {
    const size_t tab = reports.find('\t', at);
    if (tab == std::string::npos) break;
    int64_t bytes = -1;
    std::from_chars(reports.data() + tab + 1, reports.data() + reports.size(), bytes);
    most = std::max(most, bytes);
  }
  return most;
}

bool Builder::keep_result(const TranslationUnit& unit, const std::string& stem) {
  std::string stack_reports;
  for (const std::string& suffix : {".so-" + stem + ".su", std::string(".su")})
    if (const auto text = read_file(work / (stem + suffix))) stack_reports += *text;
  const auto library = cache.add_library(work / (stem + ".so"));
  if (!library) {
    diags.insert(diags.end(), library.diags().begin(), library.diags().end());
    return false;
  }
  for (const size_t k : unit.kernels)
    cache.add(sources[k].hash, *library, stack_of(stack_reports, symbol_of(sources[k])));
  done += static_cast<int64_t>(unit.kernels.size());
  if (request.options.progress)
    request.options.progress(done, total, request.kernels[unit.kernels[0]].name);
  return true;
}

void Builder::report(const TranslationUnit& unit, const process::Outcome& outcome,
                     const std::string& stem) {
  const std::string& name = request.kernels[unit.kernels[0]].name;
  if (outcome.ending == process::Ending::not_started) {
    diags.push_back(
        error(fmt::format("the compiler '{}' can not be started", request.compiler.path)));
    return;
  }
  std::string log = read_file(work / (stem + ".log")).value_or("");
  if (log.size() > 4000) log = log.substr(0, 4000) + "\n...";
  const std::string how = outcome.ending == process::Ending::signalled
                              ? fmt::format("was killed by signal {}", outcome.code)
                              : fmt::format("gave exit code {}", outcome.code);
  diags.push_back(error(fmt::format("kernel '{}' does not compile: {} {}\n{}", name,
                                    request.compiler.path, how, log)));
}

// Returns the failed units that hold more than one kernel.
std::vector<TranslationUnit> Builder::compile(const std::vector<TranslationUnit>& units,
                                              const std::string& round) {
  std::vector<process::Command> commands;
  for (size_t i = 0; i < units.size(); ++i) {
    auto c = command_for(units[i], fmt::format("{}{}", round, i));
    if (!c) return {};
    commands.push_back(std::move(*c));
  }
  std::vector<TranslationUnit> again;
  process::run_all(commands, request.parallel, request.options.cancel,
                   [&](size_t i, const process::Outcome& o) {
                     const std::string stem = fmt::format("{}{}", round, i);
                     if (o.good())
                       keep_result(units[i], stem);
                     else if (o.ending == process::Ending::cancelled)
                       return;
                     else if (units[i].kernels.size() > 1)
                       again.push_back(units[i]);
                     else
                       report(units[i], o, stem);
                   });
  return again;
}

bool Builder::build_missing(const std::vector<size_t>& kernels) {
  auto folder = cache.make_work_folder();
  if (!folder) {
    diags = folder.diags();
    return false;
  }
  work = *folder;
  total = static_cast<int64_t>(kernels.size());
  std::vector<TranslationUnit> alone;  // one kernel each, to find which one fails
  for (const TranslationUnit& unit : compile(balance(kernels), "u"))
    for (const size_t k : unit.kernels) alone.push_back({{k}, 0});
  if (!alone.empty()) compile(alone, "s");
  std::error_code ignored;
  fs::remove_all(work, ignored);
  if (request.options.cancel != nullptr && request.options.cancel->load())
    diags.push_back(error("cancelled"));
  return !has_error(diags);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Result<Build> build(const BuildRequest& request, KernelCache& cache) {
  auto sources = sources_of(
      request.kernels, request.dialect,
      request.compiler.identity(request.options.optimization) + '\n' + request.processor);
  if (!sources) return sources.diags();
  Builder b{request, cache, std::move(sources).value()};
  Build result;
  const auto start = std::chrono::steady_clock::now();
  const auto missing = b.missing();
  if (!missing.empty()) {
    if (!b.build_missing(missing)) return std::move(b.diags);
    result.seconds = seconds_since(start);
  }
  for (const Source& s : b.sources) {
    const auto found = cache.find(s.hash);
    if (!found)
      return error(fmt::format("the kernel cache '{}' does not retain what is written to it",
                               cache.root().string()));
    result.kernels.push_back({found->file, symbol_of(s), found->stack_bytes});
  }
  return result;
}

}  // namespace assay::runtime::cpu
