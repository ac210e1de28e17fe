#include "runtime/cpu/cpu_info.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "support/hash.h"

namespace assay::runtime::cpu {
namespace {

std::string read_text(const char* path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool has_word(const std::string& words, const std::string& word) {
  std::istringstream in(words);
  for (std::string w; in >> w;)
    if (w == word) return true;
  return false;
}

std::string widest_isa(const std::string& flags, const std::string& machine) {
  for (const char* isa : {"avx512f", "avx2", "avx", "sve", "asimd", "sse2"})
    if (has_word(flags, isa)) return isa;
  return machine;
}

// Flags of vector, narrow-type and matrix extensions.
std::string features_in(const std::string& flags) {
  std::istringstream in(flags);
  std::string out;
  for (std::string w; in >> w;)
    for (const char* kind :
         {"avx512_", "avx_", "amx_", "fphp", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sme"})
      if (w.starts_with(kind)) {
        out += (out.empty() ? "" : " ") + w;
        break;
      }
  return out;
}

// Asks the kernel, once for all threads of the process, to save tile registers on a switch
// (arch_prctl; Documentation/arch/x86/xstate.rst). Without it their first use is an illegal one.
bool permits_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  if (out.empty()) out.push_back(0);
  return out;
}

}  // namespace

std::string cpuinfo_field(const std::string& cpuinfo, const std::string& key) {
  std::istringstream in(cpuinfo);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (name != key) continue;
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::string usable_features(const std::string& features, bool tiles_permitted) {
  std::istringstream in(features);
  std::string out;
  for (std::string w; in >> w;)
    if (tiles_permitted || !w.starts_with("amx_")) out += (out.empty() ? "" : " ") + w;
  return out;
}

CpuInfo read_cpu_info() {
  CpuInfo info;
  const std::string text = read_text("/proc/cpuinfo");
  utsname os{};
  uname(&os);
  info.os = std::string(os.sysname) + " " + os.release + " " + os.machine;
  info.model = cpuinfo_field(text, "model name");
  if (info.model.empty()) info.model = os.machine;
  std::string flags = cpuinfo_field(text, "flags");
  if (flags.empty()) flags = cpuinfo_field(text, "Features");
  info.isa = widest_isa(flags, os.machine);
  const std::string features = features_in(flags);
  info.features = usable_features(features, has_word(features, "amx_tile") && permits_tiles());
  info.has_f16 = has_word(flags, "avx512_fp16") || has_word(flags, "asimdhp");
  std::string identity = os.machine;
  for (const char* key : {"vendor_id", "cpu family", "model", "stepping", "cache size",
                          "CPU implementer", "CPU part"})
    identity.append("|").append(cpuinfo_field(text, key));
  info.fingerprint = hash_hex(identity.append("|").append(flags));
  info.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  info.usable = usable_cpus();
  return info;
}

}  // namespace assay::runtime::cpu
