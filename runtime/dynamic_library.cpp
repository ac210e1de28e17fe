#include "runtime/dynamic_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace assay::runtime {

DynamicLibrary open_library(const char* variable, std::vector<std::string> names) {
  const char* chosen = std::getenv(variable);
  if (chosen != nullptr && *chosen != '\0') names = {chosen};
  DynamicLibrary out;
  for (const std::string& name : names) {
    out.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (out.handle != nullptr) return {out.handle, ""};
    if (out.fault.empty()) out.fault = dlerror();
  }
  return out;
}

void* find_symbol(const DynamicLibrary& library, const char* symbol) {
  return dlsym(library.handle, symbol);
}

}  // namespace assay::runtime
