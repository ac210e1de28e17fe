// A shared object of built kernels, and the functions in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "support/result.h"

namespace assay::runtime::cpu {

// Runs groups [begin, end).
using Entry = void (*)(void* const* args, void* scratch, int64_t begin, int64_t end);

struct Symbol {
  Entry entry = nullptr;
  int64_t code_bytes = 0;
};

class Library {  // invariant: handle_ is open, or null
 public:
  Library() = default;
  Library(Library&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Library& operator=(Library&&) = delete;
  ~Library();

  static Result<Library> open(const std::filesystem::path& path);
  Result<Symbol> find(const std::string& name) const;

 private:
  void* handle_ = nullptr;
};

}  // namespace assay::runtime::cpu
