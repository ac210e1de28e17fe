// Built kernels on disk, each under the hash of its source, compiler, flags and processor.
//
//   <root>/entries/<hash>     one line: library file, its hash, stack bytes of the kernel
//   <root>/libraries/<name>   shared objects, program binaries: several kernels each
//   <root>/work.<pid>.<n>/    sources, logs and objects of a running build
//
// Files are written under a temporary name and renamed, so a reader sees all or nothing. An entry
// whose library is missing or has another hash counts as absent, and its kernel is rebuilt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "support/result.h"

namespace assay::runtime {

struct CachedKernel {
  std::filesystem::path file;  // library or program binary
  int64_t stack_bytes = -1;
};

class KernelCache {  // invariant: root_ is a folder this process can write to
 public:
  // `dir` empty: $XDG_CACHE_HOME/assay or ~/.cache/assay. If that is not writable: a folder in the
  // system's temporary one, with a warning. Errors: neither is writable.
  static Result<KernelCache> open(const std::string& dir, Diags& warnings);

  // Each library's hash is checked once.
  std::optional<CachedKernel> find(const std::string& hash);

  // Moves the library file into the cache and returns its name for add(): hash and extension.
  Result<std::string> add_library(const std::filesystem::path& built);
  void add(const std::string& hash, const std::string& library, int64_t stack_bytes);

  // A fresh folder below the root, which the caller removes. Also removes folders of processes that
  // have ended.
  Result<std::filesystem::path> make_work_folder();

  const std::filesystem::path& root() const { return root_; }

 private:
  bool is_intact(const std::string& library, const std::string& hash);

  std::filesystem::path root_;
  std::map<std::string, bool> intact_;  // libraries checked so far
};

// Whole file; nullopt when it can not be read.
std::optional<std::string> read_file(const std::filesystem::path& path);
bool write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace assay::runtime
