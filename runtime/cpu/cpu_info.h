// What the operating system reports about the processor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::runtime::cpu {

struct CpuInfo {
  std::string model;        // `model name` of /proc/cpuinfo, or the architecture
  std::string isa;          // widest vector extension of kernels built here: avx512f, avx2, ...
  std::string features;     // flags of further vector, narrow-type and matrix extensions
  bool has_f16 = false;     // it has f16 arithmetic, not only conversions
  std::string fingerprint;  // hash of what determines `-march=native`
  std::string os;           // sysname release machine
  int64_t memory_bytes = 0;
  std::vector<int> usable;  // CPUs the process may run on, ascending; never empty
};

CpuInfo read_cpu_info();

// The features that code may use: tile registers (amx_*) need the kernel's permission.
std::string usable_features(const std::string& features, bool tiles_permitted);

// Value of `key` of the first processor in the text of /proc/cpuinfo, "" when absent.
std::string cpuinfo_field(const std::string& cpuinfo, const std::string& key);

}  // namespace assay::runtime::cpu
