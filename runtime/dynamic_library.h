// A shared library that may not be there: the first of several names that loads.
#pragma once

#include <string>
#include <vector>

namespace assay::runtime {

struct DynamicLibrary {  // kept for the life of the process
  void* handle = nullptr;
  std::string fault;  // why the first name did not load, where none did
};

// `variable`: environment variable that, where set, names the only one tried.
DynamicLibrary open_library(const char* variable, std::vector<std::string> names);

// nullptr where it lacks the symbol.
void* find_symbol(const DynamicLibrary& library, const char* symbol);

}  // namespace assay::runtime
