#include "hwdesc/library.h"

#include "hwdesc/embedded.h"
#include "hwdesc/reader.h"
#include "support/edit_distance.h"

namespace assay::hwdesc {

std::span<const LibraryEntry> library() { return embedded_files(); }

const LibraryEntry* find_in_library(LibraryKind kind, std::string_view name) {
  for (const LibraryEntry& e : library())
    if (e.kind == kind && (e.name == name || e.own_name == name || e.file == name)) return &e;
  return nullptr;
}

std::optional<std::pair<std::string, std::string>> library_profile(std::string_view name) {
  const LibraryEntry* e = find_in_library(LibraryKind::profile, name);
  if (e == nullptr) return std::nullopt;
  return std::pair{std::string(e->text), "hw_profiles/" + std::string(e->file)};
}

Result<Profile> load_from_library(std::string_view name) {
  const auto found = library_profile(name);
  if (found) return parse_profile(found->first, found->second, library_profile);
  std::vector<std::string> known, names;
  for (const LibraryEntry& e : library()) {
    if (e.kind != LibraryKind::profile) continue;
    known.emplace_back(e.name);
    known.emplace_back(e.own_name);
    names.emplace_back(e.name);
  }
  return error("no profile '" + std::string(name) + "' in the library",
               did_you_mean(name, nearest(name, known).empty() ? names : known));
}

std::string_view dialect_text(std::string_view name) {
  const LibraryEntry* e = find_in_library(LibraryKind::dialect, name);
  return e == nullptr ? std::string_view() : e->text;
}

}  // namespace assay::hwdesc
