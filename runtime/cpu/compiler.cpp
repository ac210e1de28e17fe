#include "runtime/cpu/compiler.h"

#include <fmt/format.h>

#include <cstdlib>

#include "support/process/process.h"

namespace assay::runtime::cpu {
namespace {

constexpr const char* kInstall = "apt install g++";

std::optional<Compiler> try_compiler(const std::string& name) {
  Compiler c;
  c.path = process::find_program(name);
  if (c.path.empty()) return std::nullopt;
  c.version = process::first_line_of({c.path, "--version"});
  if (c.version.empty()) return std::nullopt;
  c.clang = c.version.find("clang") != std::string::npos;
  return c;
}

}  // namespace

// None assumes finite numbers: docs/validating.md, special values.
std::vector<std::string> Compiler::flags(const std::string& optimization) const {
  std::vector<std::string> f = {"-std=c++17",
                                optimization,
                                "-march=native",
                                "-ffp-contract=fast",
                                "-fno-math-errno",
                                "-fno-trapping-math",
                                "-fno-exceptions",
                                "-fno-rtti",
                                "-fomit-frame-pointer",
                                "-fno-stack-protector",
                                "-fvisibility=hidden",
                                "-fstack-usage",
                                "-w",
                                "-fPIC",
                                "-shared"};
#if defined(__x86_64__)
  // Tuned for the native processor, g++ spills integers to vector registers. Address arithmetic of
  // blocked layouts then takes up to twice as long.
  f.insert(f.end(), {"-mtune=generic", "-mprefer-vector-width=512", "-fcf-protection=none"});
#endif
  if (clang)
    f.insert(f.end(), {"-fno-vectorize", "-fno-slp-vectorize"});
  else
    f.insert(f.end(), {"-fno-tree-vectorize", "-fno-tree-loop-distribute-patterns",
                       "-fno-tree-loop-distribution", "-fno-loop-interchange", "-fno-tree-bit-ccp",
                       "-fno-predictive-commoning"});
  return f;
}

std::string Compiler::identity(const std::string& optimization) const {
  return fmt::format("{}\n{}\n{}", path, version, fmt::join(flags(optimization), " "));
}

Result<Compiler> find_compiler() {
  if (const char* chosen = std::getenv("CXX"); chosen != nullptr && *chosen != '\0') {
    if (auto c = try_compiler(chosen)) return *c;
    return error(fmt::format("the C++ compiler '{}' named by $CXX does not run", chosen),
                 "unset CXX or name another");
  }
  for (const char* name : {"c++", "g++", "clang++"})
    if (auto c = try_compiler(name)) return *c;
  return error("no C++ compiler: kernels can not be built (looked for c++, g++, clang++ on PATH)",
               kInstall);
}

}  // namespace assay::runtime::cpu
