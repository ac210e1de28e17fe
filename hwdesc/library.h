// The profiles, dialects, matrix instructions and catalogue of hw_profiles/, embedded in the binary
// as text when it was built.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hwdesc/parse.h"
#include "support/result.h"

namespace assay::hwdesc {

enum class LibraryKind { profile, dialect, isa, catalogue, residuals };

struct LibraryEntry {
  LibraryKind kind = LibraryKind::profile;
  std::string_view name;      // profiles: <vendor>/<chip>; others: the file's stem
  std::string_view own_name;  // profiles: `name:` of the file; else as `name`
  std::string_view file;      // below hw_profiles/
  std::string_view text;
};

// Ordered by file.
std::span<const LibraryEntry> library();

// By <vendor>/<chip>, by the profile's own name, or by file below hw_profiles/; nullptr: not there.
const LibraryEntry* find_in_library(LibraryKind kind, std::string_view name);

// The library as parse_profile wants it: profiles only.
std::optional<std::pair<std::string, std::string>> library_profile(std::string_view name);

// A profile of the library, parsed; an unknown name is an error with the nearest one as hint.
Result<Profile> load_from_library(std::string_view name);

// Text of dialects/<name>.yaml; empty: there is none.
std::string_view dialect_text(std::string_view name);

}  // namespace assay::hwdesc
