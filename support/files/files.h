// Reading and writing files. Reading has a size limit. Writing is atomic: a temporary sibling is
// written, synced and renamed, so a crash or a full disk never leaves a partial file or directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace assay {

inline constexpr int64_t kMaxTextBytes = int64_t{64} << 20;
inline constexpr int64_t kMaxDataBytes = int64_t{8} << 30;

bool file_exists(const std::string& path);  // a regular file
bool directory_exists(const std::string& path);

// Errors: absent, a directory, not readable, larger than `max_bytes`.
Result<std::string> read_text(const std::string& path, int64_t max_bytes = kMaxTextBytes);
Result<std::vector<std::byte>> read_bytes(const std::string& path,
                                          int64_t max_bytes = kMaxDataBytes);

// Whether `path` could be written, to be checked before long work. Errors: its directory is absent
// or not writable.
Diags check_writable(const std::string& path);

// Empty: it was written. Errors: no such directory, not writable, disk full.
Diags write_file(const std::string& path, std::span<const std::byte> content);
Diags write_text(const std::string& path, std::string_view text);

std::span<const std::byte> bytes_of_text(std::string_view text);

class NewDirectory {  // invariant: the temporary sibling exists from create() to commit() or
                      // destruction
 public:
  // `marker`: an existing directory at `path` is replaced only if it is empty or holds this file.
  // Errors: `path` is a file or holds something else, its parent is absent or not writable.
  static Result<NewDirectory> create(const std::string& path, const std::string& marker);
  NewDirectory(NewDirectory&& other) noexcept;
  NewDirectory& operator=(NewDirectory&&) = delete;
  ~NewDirectory();  // removes what was not committed

  // `name` may hold one `/`; its folder is created.
  Diags add(const std::string& name, std::span<const std::byte> content);
  Diags add(const std::string& name, std::string_view text) {
    return add(name, bytes_of_text(text));
  }

  // Renames the directory to its path, then removes the one it replaces.
  Diags commit();

 private:
  NewDirectory(std::string path, std::string temporary);
  std::string path_, temporary_;  // temporary_ empty: nothing to remove
};

}  // namespace assay
