#include "runtime/cuda/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <sstream>

#include "runtime/dynamic_library.h"

namespace assay::runtime::cuda {
namespace {

using Status = int;  // nvrtcResult
using Program = struct ProgramRecord*;

constexpr size_t kLongestLog = 4000;

// Denormals are flushed on every device that can, as in runtime/README.md.
constexpr const char* kFlags[] = {"--std=c++17", "--ftz=true", "-w", "--ptxas-options=-v"};

#define ASSAY_NVRTC_FUNCTIONS(X)                                                          \
  X(get_version, nvrtcVersion, int* major, int* minor)                                    \
  X(count_architectures, nvrtcGetNumSupportedArchs, int* count)                           \
  X(get_architectures, nvrtcGetSupportedArchs, int* all)                                  \
  X(create, nvrtcCreateProgram, Program* program, const char* source, const char* name,   \
    int headers, const char* const* texts, const char* const* names)                      \
  X(destroy, nvrtcDestroyProgram, Program* program)                                       \
  X(compile, nvrtcCompileProgram, Program program, int count, const char* const* options) \
  X(log_size, nvrtcGetProgramLogSize, Program program, size_t* size)                      \
  X(get_log, nvrtcGetProgramLog, Program program, char* log)                              \
  X(cubin_size, nvrtcGetCUBINSize, Program program, size_t* size)                         \
  X(get_cubin, nvrtcGetCUBIN, Program program, char* code)

}  // namespace

struct Compiler::Functions {
#define ASSAY_DECLARE(field, symbol, ...) Status (*field)(__VA_ARGS__) = nullptr;
  ASSAY_NVRTC_FUNCTIONS(ASSAY_DECLARE)
#undef ASSAY_DECLARE
  const char* (*text_of)(Status status) = nullptr;
};

struct Loading {
  Compiler::Functions functions;
  Compiler compiler;
  Diags diags;

  Loading();
  void look_up(const DynamicLibrary& library);
};

void Loading::look_up(const DynamicLibrary& library) {
  const auto look_up = [&](auto& field, const char* symbol) {
    field = reinterpret_cast<std::decay_t<decltype(field)>>(find_symbol(library, symbol));
    if (field == nullptr)
      diags.push_back(error(fmt::format("the NVRTC library lacks the function {}", symbol),
                            "NVRTC 11.2 and later have it"));
  };
#define ASSAY_LOOK_UP(field, symbol, ...) look_up(functions.field, #symbol);
  ASSAY_NVRTC_FUNCTIONS(ASSAY_LOOK_UP)
#undef ASSAY_LOOK_UP
  look_up(functions.text_of, "nvrtcGetErrorString");
}

Loading::Loading() {
  const DynamicLibrary library =
      open_library("ASSAY_NVRTC_LIBRARY", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                           "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
  if (library.handle == nullptr) {
    diags.push_back(error("no NVRTC library, which compiles CUDA kernels: " + library.fault,
                          "scripts/nvrtc.sh brings one from PyPI; ASSAY_NVRTC_LIBRARY names it"));
    return;
  }
  look_up(library);
  if (!diags.empty()) return;
  compiler.functions_ = &functions;
  int major = 0, minor = 0, count = 0;
  functions.get_version(&major, &minor);
  compiler.version_ = fmt::format("{}.{}", major, minor);
  functions.count_architectures(&count);
  compiler.architectures_.resize(static_cast<size_t>(std::max(count, 0)));
  functions.get_architectures(compiler.architectures_.data());
  std::sort(compiler.architectures_.begin(), compiler.architectures_.end());
}

namespace {

// Line from "kernel.cu(15): error: expected a ...", column from the caret below the quoted line.
std::pair<int, int> place_in(const std::string& log) {
  static const std::regex kPlace(R"(\((\d{1,9})\): error)");
  std::istringstream lines(log);
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, found, kPlace)) continue;
    const int at = std::stoi(found[1]);
    std::string shown, caret;
    std::getline(lines, shown);
    std::getline(lines, caret);
    const size_t column = caret.find('^');
    const bool is_caret = column != std::string::npos && caret.find_first_not_of(' ') == column;
    return {at, is_caret && column >= 2 ? static_cast<int>(column) - 1
                                        : 0};  // quoted lines are indented by two spaces
  }
  return {0, 0};
}

Diag complaint(const std::string& why, std::string log) {
  Diag d = error(fmt::format("NVRTC: {}", why));
  std::tie(d.line, d.col) = place_in(log);
  if (log.size() > kLongestLog) log = log.substr(0, kLongestLog) + "\n...";
  d.message += "\n" + log;
  return d;
}

}  // namespace

Result<const Compiler*> Compiler::load() {
  static const Loading loaded;
  if (!loaded.diags.empty()) return loaded.diags;
  return &loaded.compiler;
}

Result<int> Compiler::architecture_for(int capability) const {
  int best = 0;
  for (const int a : architectures_)
    if (a / 10 == capability / 10 && a <= capability) best = a;
  if (best > 0) return best;
  return error(
      fmt::format("NVRTC {} makes no code for compute capability {}.{}; it knows: {}", version_,
                  capability / 10, capability % 10, fmt::join(architectures_, ", ")),
      "another version does: name it with ASSAY_NVRTC_LIBRARY");
}

std::string Compiler::flags() { return fmt::format("{}", fmt::join(kFlags, " ")); }

Result<Compiled> Compiler::compile(const std::string& source, int architecture) const {
  const Functions& f = *functions_;
  Program made = nullptr;
  if (const Status status = f.create(&made, source.c_str(), "kernel.cu", 0, nullptr, nullptr))
    return complaint(f.text_of(status), "");
  const auto destroy = [&](Program p) { f.destroy(&p); };
  const std::unique_ptr<ProgramRecord, decltype(destroy)> program(made, destroy);
  const std::string target = fmt::format("--gpu-architecture=sm_{}", architecture);
  std::vector<const char*> options{target.c_str()};
  options.insert(options.end(), std::begin(kFlags), std::end(kFlags));
  const Status status = f.compile(made, static_cast<int>(options.size()), options.data());
  std::string log;
  size_t size = 0;
  if (f.log_size(made, &size) == 0 && size > 0) {
    log.resize(size);
    f.get_log(made, log.data());
    log.resize(std::min(log.find('\0'), log.size()));
  }
  if (status != 0) return complaint(f.text_of(status), log);
  Compiled out;
  if (const Status s = f.cubin_size(made, &size)) return complaint(f.text_of(s), log);
  out.cubin.resize(size);
  if (const Status s = f.get_cubin(made, out.cubin.data())) return complaint(f.text_of(s), log);
  out.resources = read_resources(log);
  return out;
}

// ptxas info    : Compiling entry function 'add' for 'sm_80'
// ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// ptxas info    : Used 27 registers, used 0 barriers, 376 bytes cmem[0]
std::map<std::string, Resources> read_resources(const std::string& log) {
  static const std::regex kEntry(R"(Compiling entry function '([^']*)')"),
      kRegisters(R"(Used (\d+) registers)"),
      kStack(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  std::map<std::string, Resources> out;
  std::string entry;
  Resources now;
  std::istringstream lines(log);
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, found, kEntry)) {
      entry = found[1];
      now = {};
    } else if (std::regex_search(line, found, kStack)) {
      now.stack_bytes = std::stoll(found[1]);
      now.spill_bytes = std::stoll(found[2]) + std::stoll(found[3]);
    } else if (std::regex_search(line, found, kRegisters) && !entry.empty()) {
      now.registers = std::stoi(found[1]);
      out[entry] = now;
      entry.clear();
    }
  }
  return out;
}

}  // namespace assay::runtime::cuda
