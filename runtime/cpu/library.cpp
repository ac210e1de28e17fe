#include "runtime/cpu/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

namespace assay::runtime::cpu {

Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
}

Result<Library> Library::open(const std::filesystem::path& path) {
  Library l;
  l.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (l.handle_ != nullptr) return l;
  return error(fmt::format("built kernels can not be loaded: {}", dlerror()),
               "is the cache on a file system mounted noexec?");
}

Result<Symbol> Library::find(const std::string& name) const {
  void* address = dlsym(handle_, name.c_str());
  if (address == nullptr) return error(fmt::format("a built library lacks '{}'", name));
  Symbol s{reinterpret_cast<Entry>(address), 0};
  Dl_info info{};
  void* symbol = nullptr;
  if (dladdr1(address, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != nullptr)
    s.code_bytes = static_cast<int64_t>(static_cast<const ElfW(Sym)*>(symbol)->st_size);
  return s;
}

}  // namespace assay::runtime::cpu
