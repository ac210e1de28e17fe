// Machine code as text, by the disassembler named by ASSAY_NVDISASM.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace assay::testing {

inline bool has_disassembler() {
  const char* named = std::getenv("ASSAY_NVDISASM");
  return named != nullptr && std::filesystem::exists(named);
}

// Count of an instruction.
inline int occurrences(const std::string& cubin, const std::string& instruction) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("assay-" + std::to_string(::getpid()) + ".cubin");
  std::ofstream(file, std::ios::binary) << cubin;
  FILE* out =
      ::popen((std::string(std::getenv("ASSAY_NVDISASM")) + " -c " + file.string()).c_str(), "r");
  std::string text;
  for (char buffer[4096]; const size_t n = std::fread(buffer, 1, sizeof buffer, out);)
    text.append(buffer, n);
  ::pclose(out);
  std::filesystem::remove(file);
  int n = 0;
  for (size_t at = 0; (at = text.find(instruction, at)) != std::string::npos; ++at) ++n;
  return n;
}

}  // namespace assay::testing
