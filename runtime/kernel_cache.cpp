#include "runtime/kernel_cache.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/hash.h"

namespace assay::runtime {
namespace {

namespace fs = std::filesystem;

std::atomic<int> work_number{0};  // only makes folder names distinct

fs::path default_root() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0')
    return fs::path(xdg) / "assay";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "assay";
  return {};
}

bool make_usable(const fs::path& root) {
  if (root.empty()) return false;
  std::error_code fault;
  fs::create_directories(root / "entries", fault);
  fs::create_directories(root / "libraries", fault);
  return access((root / "entries").c_str(), W_OK) == 0 &&
         access((root / "libraries").c_str(), W_OK) == 0;
}

// The process of a work folder, "work.<pid>.<n>", has ended.
bool is_stale(const std::string& name) {
  if (!name.starts_with("work.")) return false;
  pid_t pid = 0;
  std::from_chars(name.data() + 5, name.data() + name.size(), pid);
  return pid > 0 && pid != getpid() && kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return static_cast<bool>(out);
}

Result<KernelCache> KernelCache::open(const std::string& dir, Diags& warnings) {
  KernelCache cache;
  const fs::path wanted = dir.empty() ? default_root() : fs::path(dir);
  cache.root_ = wanted;
  if (make_usable(wanted)) return cache;
  std::error_code fault;
  cache.root_ = fs::temp_directory_path(fault) / fmt::format("assay-cache-{}", getuid());
  if (fault || !make_usable(cache.root_))
    return error(
        fmt::format("neither '{}' nor '{}' can be written: built kernels can not be cached",
                    wanted.string(), cache.root_.string()),
        "name a folder with --cache");
  Diag d = error(fmt::format("the kernel cache '{}' can not be written; using '{}'",
                             wanted.string(), cache.root_.string()));
  d.severity = Severity::warning;
  warnings.push_back(std::move(d));
  return cache;
}

bool KernelCache::is_intact(const std::string& library, const std::string& hash) {
  const auto known = intact_.find(library);
  if (known != intact_.end()) return known->second;
  const auto bytes = read_file(root_ / "libraries" / library);
  return intact_[library] = bytes && hash_hex(*bytes) == hash;
}

std::optional<CachedKernel> KernelCache::find(const std::string& hash) {
  const auto entry = read_file(root_ / "entries" / hash);
  if (!entry) return std::nullopt;
  std::istringstream in(*entry);
  std::string name, library_hash, end;
  CachedKernel k;
  if (!(in >> name >> library_hash >> k.stack_bytes >> end) || end != "end") return std::nullopt;
  if (name.find('/') != std::string::npos) return std::nullopt;
  if (!is_intact(name, library_hash)) return std::nullopt;
  k.file = root_ / "libraries" / name;
  return k;
}

Result<std::string> KernelCache::add_library(const fs::path& built) {
  const auto bytes = read_file(built);
  if (!bytes) return error(fmt::format("the built library '{}' can not be read", built.string()));
  const std::string name = hash_hex(*bytes) + built.extension().string();
  std::error_code fault;
  fs::rename(built, root_ / "libraries" / name, fault);
  if (fault)
    return error(fmt::format("'{}' can not be written: {}", (root_ / "libraries").string(),
                             fault.message()));
  intact_[name] = true;
  return name;
}

void KernelCache::add(const std::string& hash, const std::string& library, int64_t stack_bytes) {
  const fs::path temporary =
      root_ / "entries" / fmt::format("{}.{}.{}", hash, getpid(), work_number++);
  const std::string library_hash = library.substr(0, library.find('.'));
  std::error_code fault;
  if (write_file(temporary, fmt::format("{} {} {} end\n", library, library_hash, stack_bytes)))
    fs::rename(temporary, root_ / "entries" / hash, fault);
  else
    fs::remove(temporary, fault);  // the kernel is then rebuilt next time
}

Result<fs::path> KernelCache::make_work_folder() {
  std::error_code fault;
  for (const auto& item : fs::directory_iterator(root_, fault))
    if (is_stale(item.path().filename().string())) fs::remove_all(item.path(), fault);
  const fs::path folder = root_ / fmt::format("work.{}.{}", getpid(), work_number++);
  fs::create_directory(folder, fault);
  if (fault)
    return error(fmt::format("'{}' can not be made: {}", folder.string(), fault.message()));
  return folder;
}

}  // namespace assay::runtime
