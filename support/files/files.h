// Files in and out. Reading has a size limit; writing is all or nothing: a temporary sibling is
// written, synced and renamed, so that a crash or a full disk never leaves half a file, and a
// directory appears with everything in it or not at all.
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

// Whether something could be written at `path`, to fail before the work and not after it.
// Errors: its directory is absent or not writable.
Diags check_writable(const std::string& path);

// Empty when it was written. Errors: no such directory, not writable, disk full.
Diags write_file(const std::string& path, std::span<const std::byte> content);
Diags write_text(const std::string& path, std::string_view text);

std::span<const std::byte> bytes_of_text(std::string_view text);

class NewDirectory {  // invariant: the temporary sibling exists from create() to commit() or the
                      // end
 public:
  // `marker`: an existing directory at `path` is replaced only if it is empty or holds this file.
  // Errors: `path` is a file or holds something else, its parent is absent or not writable.
  static Result<NewDirectory> create(const std::string& path, const std::string& marker);
  NewDirectory(NewDirectory&& other) noexcept;
  NewDirectory& operator=(NewDirectory&&) = delete;
  ~NewDirectory();  // removes what was not committed

  // `name` may hold one `/`: its folder is made.
  Diags add(const std::string& name, std::span<const std::byte> content);
  Diags add(const std::string& name, std::string_view text) {
    return add(name, bytes_of_text(text));
  }

  // Puts the directory in its place; what was there before is removed after that.
  Diags commit();

 private:
  NewDirectory(std::string path, std::string temporary);
  std::string path_, temporary_;  // temporary_ empty: nothing to remove
};

}  // namespace assay
