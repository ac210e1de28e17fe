#include "support/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) { return std::generic_category().message(code); }

Diag file_error(const std::string& path, std::string message, std::string hint = "") {
  Diag d = error(std::move(message), std::move(hint));
  d.file = path;
  return d;
}

class Descriptor {  // invariant: an open descriptor, or -1
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Diag cannot_read(const std::string& path, int code) {
  if (code == ENOENT) return file_error(path, "there is no such file");
  return file_error(path, "cannot be read: " + reason(code));
}

// Reserves the file's size, then reads to the end, since pipes have no size.
template <class Container>
Result<Container> read_whole(const std::string& path, int64_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return cannot_read(path, errno);
  if (S_ISDIR(status.st_mode)) return file_error(path, "is a directory, a file was expected");
  const auto too_large = [&] {
    return file_error(path, "is larger than the " + std::to_string(max_bytes >> 20) +
                                " MiB that are read at most");
  };
  if (status.st_size > max_bytes) return too_large();
  Container out;
  out.resize(static_cast<size_t>(status.st_size) + 1);
  size_t size = 0;
  for (;;) {
    if (size == out.size()) out.resize(2 * size);
    const ssize_t n = ::read(file.get(), out.data() + size, out.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_read(path, errno);
    if (n == 0) break;
    size += static_cast<size_t>(n);
    if (static_cast<int64_t>(size) > max_bytes) return too_large();
  }
  out.resize(size);
  return out;
}

// 0, or the errno of the failure.
int write_whole(const std::string& path, std::span<const std::byte> content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return errno;
  while (!content.empty()) {
    const ssize_t n = ::write(file.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content = content.subspan(static_cast<size_t>(n));
  }
  return ::fsync(file.get()) == 0 ? 0 : errno;
}

std::string sibling(const std::string& path, const char* what) {
  std::string base = path;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  return base + "." + what + std::to_string(::getpid());
}

Diag cannot_write(const std::string& path, int code) {
  std::string hint;
  if (code == ENOENT) hint = "make the directory it lies in first";
  return file_error(path, "cannot be written: " + reason(code), hint);
}

}  // namespace

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool directory_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Result<std::string> read_text(const std::string& path, int64_t max_bytes) {
  return read_whole<std::string>(path, max_bytes);
}

Result<std::vector<std::byte>> read_bytes(const std::string& path, int64_t max_bytes) {
  return read_whole<std::vector<std::byte>>(path, max_bytes);
}

Diags check_writable(const std::string& path) {
  std::string parent = fs::path(path).lexically_normal().parent_path().string();
  if (path.ends_with('/')) parent = fs::path(parent).parent_path().string();
  if (parent.empty()) parent = ".";
  if (::access(parent.c_str(), W_OK | X_OK) == 0 && directory_exists(parent)) return {};
  return {cannot_write(path, directory_exists(parent) ? EACCES
                             : file_exists(parent)    ? ENOTDIR
                                                      : ENOENT)};
}

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Diags write_file(const std::string& path, std::span<const std::byte> content) {
  if (directory_exists(path)) return {file_error(path, "is a directory, a file was expected")};
  const std::string temporary = sibling(path, "tmp");
  int code = write_whole(temporary, content);
  if (code == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code == 0) return {};
  ::unlink(temporary.c_str());
  return {cannot_write(path, code)};
}

Diags write_text(const std::string& path, std::string_view text) {
  return write_file(path, bytes_of_text(text));
}

NewDirectory::NewDirectory(std::string path, std::string temporary)
    : path_(std::move(path)), temporary_(std::move(temporary)) {}

NewDirectory::NewDirectory(NewDirectory&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

NewDirectory::~NewDirectory() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Result<NewDirectory> NewDirectory::create(const std::string& path, const std::string& marker) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (fs::exists(status) && !fs::is_directory(status))
    return file_error(path, "is a file, a directory was expected", "name another place");
  if (fs::is_directory(status) && !fs::is_empty(path, code) && !file_exists(path + "/" + marker))
    return file_error(path,
                      "holds other files: only a directory with " + marker + " in it is replaced",
                      "name a new directory");
  const std::string temporary = sibling(path, "tmp");
  fs::remove_all(temporary, code);
  if (::mkdir(temporary.c_str(), 0777) != 0) return cannot_write(path, errno);
  return NewDirectory(path, temporary);
}

Diags NewDirectory::add(const std::string& name, std::span<const std::byte> content) {
  const size_t slash = name.find('/');
  std::error_code code;
  if (slash != std::string::npos)
    fs::create_directory(temporary_ + "/" + name.substr(0, slash), code);
  const int failed = code ? code.value() : write_whole(temporary_ + "/" + name, content);
  if (failed != 0) return {cannot_write(path_ + "/" + name, failed)};
  return {};
}

Diags NewDirectory::commit() {
  const std::string old = sibling(path_, "old");
  std::error_code code;
  fs::remove_all(old, code);
  const bool moved = ::rename(path_.c_str(), old.c_str()) == 0;
  if (!moved && errno != ENOENT) return {cannot_write(path_, errno)};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int failed = errno;
    if (moved && ::rename(old.c_str(), path_.c_str()) != 0) return {cannot_write(path_, errno)};
    return {cannot_write(path_, failed)};
  }
  temporary_.clear();
  if (moved) fs::remove_all(old, code);
  return {};
}

}  // namespace assay
