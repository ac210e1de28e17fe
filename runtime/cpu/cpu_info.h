// What the operating system says of this machine's processor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::runtime::cpu {

struct CpuInfo {
  std::string model;  // `model name` of /proc/cpuinfo, or the architecture
  std::string isa;    // widest vector extension this build's kernels would use: avx512f, avx2, ...
  std::string features;  // those flags that say what it computes beyond that, separated by blanks
  bool has_f16 = false;  // it computes on f16, and does not only convert them
  std::string fingerprint;  // hash of what `-march=native` is decided by
  std::string os;           // sysname release machine
  int64_t memory_bytes = 0;
  std::vector<int> usable;  // CPUs the process may run on, ascending; never empty
};

CpuInfo read_cpu_info();

// Text of /proc/cpuinfo -> value of `key` of the first processor, "" when absent.
std::string cpuinfo_field(const std::string& cpuinfo, const std::string& key);

}  // namespace assay::runtime::cpu
