// An optional shared library: the first of several names that loads.
#pragma once

#include <string>
#include <vector>

namespace assay::runtime {

struct DynamicLibrary {  // never closed
  void* handle = nullptr;
  std::string fault;  // why the first name did not load, if none did
};

// `variable`: environment variable that, if set, names the only one tried.
DynamicLibrary open_library(const char* variable, std::vector<std::string> names);

// nullptr if it lacks the symbol.
void* find_symbol(const DynamicLibrary& library, const char* symbol);

}  // namespace assay::runtime
