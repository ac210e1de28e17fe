#include "tests/runtime/emulated_arm.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "codegen/dialect.h"
#include "codegen/render.h"
#include "support/process/process.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::testing {
namespace {

constexpr const char* kCompiler = "aarch64-linux-gnu-g++";
constexpr const char* kEmulator = "qemu-aarch64";

// Calls the kernels in order. Its input holds per kernel the numbers of groups and of bytes of
// scratch, then each argument's size and bytes; its output is that of the last arguments.
constexpr const char* kDriver = R"(
#include <cstdio>
#include <cstdlib>
typedef void Kernel(void* const*, void*, long, long);
struct Call { Kernel* kernel; int arguments; };
extern const Call calls[];
extern const int call_count;
static long number(FILE* f) {
  long n = 0;
  if (fread(&n, sizeof n, 1, f) != 1) exit(3);
  return n;
}
int main(int, char** argv) {
  FILE* in = fopen(argv[1], "rb");
  FILE* out = fopen(argv[2], "wb");
  if (in == nullptr || out == nullptr) return 2;
  for (int i = 0; i < call_count; ++i) {
    const long groups = number(in), scratch = number(in);
    void* args[16];
    long size = 0;
    for (int a = 0; a < calls[i].arguments; ++a) {
      size = number(in);
      args[a] = aligned_alloc(64, (size + 127) / 64 * 64);
      if (fread(args[a], 1, size, in) != (size_t)size) return 3;
    }
    calls[i].kernel(args, aligned_alloc(64, (scratch + 127) / 64 * 64), 0, groups);
    fwrite(args[calls[i].arguments - 1], 1, size, out);
  }
  return fclose(out);
}
)";

void run(const std::vector<std::string>& argv, const std::string& log) {
  const auto ends = process::run_all({{argv, log}}, 1, nullptr);
  if (ends[0].good()) return;
  std::ifstream in(log);
  throw std::runtime_error(argv[0] + " failed\n" + std::string{std::istreambuf_iterator(in), {}});
}

std::string source_of(const std::vector<ArmLaunch>& launches) {
  auto dialect = codegen::parse_dialect(codegen::dialect_text("cpp"), "cpp.yaml");
  if (!dialect) throw std::runtime_error(render(dialect.diags()));
  std::vector<ir::Kernel> kernels;
  for (const ArmLaunch& l : launches) kernels.push_back(l.kernel);
  const auto text = codegen::render(kernels, *dialect);
  if (!text) throw std::runtime_error(render(text.diags()));
  std::string calls;
  for (const ArmLaunch& l : launches)
    calls += "  {" + l.kernel.name + ", " + std::to_string(l.arguments.size()) + "},\n";
  return *text + kDriver + "const Call calls[] = {\n" + calls +
         "};\nconst int call_count = " + std::to_string(launches.size()) + ";\n";
}

void write_number(std::ofstream& out, int64_t n) {
  out.write(reinterpret_cast<const char*>(&n), sizeof n);
}

void write_input(const std::string& path, const std::vector<ArmLaunch>& launches) {
  std::ofstream out(path, std::ios::binary);
  for (const ArmLaunch& l : launches) {
    write_number(out, l.kernel.groups);
    write_number(out, codegen::scratch_bytes(l.kernel));
    for (const std::vector<std::byte>& a : l.arguments) {
      write_number(out, static_cast<int64_t>(a.size()));
      out.write(reinterpret_cast<const char*>(a.data()), static_cast<std::streamsize>(a.size()));
    }
  }
}

}  // namespace

std::string missing_for_arm() {
  for (const char* needed : {kCompiler, kEmulator})
    if (process::find_program(needed).empty()) return needed;
  return "";
}

std::vector<std::vector<std::byte>> run_on_arm(std::vector<ArmLaunch> launches,
                                               const std::string& architecture) {
  const test::ScratchDirectory dir;
  for (size_t i = 0; i < launches.size(); ++i) launches[i].kernel.name = "k" + std::to_string(i);
  std::ofstream(dir.at("k.cpp")) << source_of(launches);
  write_input(dir.at("in"), launches);
  run({process::find_program(kCompiler), "-std=c++17", "-O2", "-march=" + architecture,
       "-ffp-contract=fast", "-fno-tree-vectorize", "-w", "-static", dir.at("k.cpp"), "-o",
       dir.at("k")},
      dir.at("compiler.log"));
  run({process::find_program(kEmulator), "-cpu", "max", dir.at("k"), dir.at("in"), dir.at("out")},
      dir.at("emulator.log"));
  std::ifstream in(dir.at("out"), std::ios::binary);
  std::vector<std::vector<std::byte>> out;
  for (const ArmLaunch& l : launches) {
    out.emplace_back(l.arguments.back().size());
    in.read(reinterpret_cast<char*>(out.back().data()),
            static_cast<std::streamsize>(out.back().size()));
  }
  if (!in) throw std::runtime_error("the emulator wrote too little");
  return out;
}

}  // namespace assay::testing
