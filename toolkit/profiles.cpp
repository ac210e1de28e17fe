#include "toolkit/profiles.h"

#include <algorithm>

#include "codegen/dialect.h"
#include "hwdesc/check.h"
#include "hwdesc/library.h"
#include "hwdesc/override.h"
#include "hwdesc/parse.h"
#include "hwdesc/print.h"
#include "model/machine.h"
#include "support/edit_distance.h"
#include "support/files/files.h"

namespace assay::toolkit {
namespace {

constexpr auto kMaxBytes = static_cast<int64_t>(hwdesc::kMaxProfileBytes);

std::string directory_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

// Where `extends` looks: beside the files read so far, the last one first, then in the library.
hwdesc::Library lookup_beside(const std::string& file) {
  return [directories = std::vector<std::string>{directory_of(file)}](
             std::string_view name) mutable -> std::optional<std::pair<std::string, std::string>> {
    for (size_t i = directories.size(); i-- > 0;)
      for (const char* ending : {"", ".yaml", "/profile.yaml"}) {
        const std::string path = directories[i] + std::string(name) + ending;
        if (!file_exists(path)) continue;
        Result<std::string> text = read_text(path, kMaxBytes);
        if (!text) continue;
        directories.push_back(directory_of(path));
        return std::pair{std::move(*text), path};
      }
    return hwdesc::library_profile(name);
  };
}

// Names of the library have one slash: vendor/chip.
bool looks_like_path(const std::string& name) {
  return directory_exists(name) || name.starts_with('.') || name.starts_with('/') ||
         std::count(name.begin(), name.end(), '/') > 1 || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

std::string_view chip_of(const hwdesc::LibraryEntry& e) {
  return e.name.substr(e.name.rfind('/') + 1);
}

// By <vendor>/<chip>, the profile's own name, or the chip alone.
std::optional<std::pair<std::string, std::string>> find_profile(const std::string& name) {
  for (const hwdesc::LibraryEntry& e : hwdesc::library())
    if (e.kind == hwdesc::LibraryKind::profile && chip_of(e) == name)
      return hwdesc::library_profile(e.name);
  return hwdesc::library_profile(name);
}

Diag unknown_profile(const std::string& name) {
  std::vector<std::string> known;
  for (const hwdesc::LibraryEntry& e : hwdesc::library())
    if (e.kind == hwdesc::LibraryKind::profile)
      known.insert(known.end(),
                   {std::string(chip_of(e)), std::string(e.name), std::string(e.own_name)});
  const std::string near = nearest(name, known);
  return error("there is no profile '" + name + "', neither as a file nor in the library",
               near.empty() ? "`assay profile list` names those of the library"
                            : "did you mean '" + near + "'?");
}

}  // namespace

namespace {

// A probe's directory stands for the profile in it.
std::string file_of(const std::string& name_or_path) {
  const std::string inner = name_or_path + "/profile.yaml";
  return directory_exists(name_or_path) && file_exists(inner) ? inner : name_or_path;
}

}  // namespace

bool profile_exists(const std::string& name_or_path) {
  return file_exists(file_of(name_or_path)) || find_profile(name_or_path).has_value();
}

Result<hwdesc::Profile> load_profile(const std::string& name_or_path,
                                     const LoadProfileOptions& options) {
  const std::string path = file_of(name_or_path);
  if (!file_exists(path)) {
    const auto found = find_profile(path);
    if (found) return parse_profile_text(found->first, found->second, options);
    if (!looks_like_path(path)) return unknown_profile(path);
    if (directory_exists(path)) {
      Diag d = error("is a directory without a profile.yaml",
                     "give a profile, or a directory that `assay probe` wrote");
      d.file = path;
      return d;
    }
  }
  const Result<std::string> text = read_text(path, kMaxBytes);
  if (!text) return text.diags();
  return parse_profile_text(*text, path, options);
}

Result<hwdesc::Profile> parse_profile_text(const std::string& text, const std::string& file,
                                           const LoadProfileOptions& options) {
  hwdesc::ParseOptions parse;
  parse.consistent = options.consistent;
  parse.notes = options.notes;
  return hwdesc::parse_profile(text, file, lookup_beside(file), parse);
}

Result<hwdesc::Profile> apply_overrides(hwdesc::Profile profile,
                                        std::span<const std::string> overrides) {
  Diags diags;
  for (const std::string& text : overrides) {
    Result<hwdesc::Profile> changed = hwdesc::apply_override(profile, text);
    if (changed)
      profile = std::move(*changed);
    else
      for (Diag d : changed.diags()) {
        d.file = "--set";
        d.line = 1;
        d.source_line = text;
        diags.push_back(std::move(d));
      }
  }
  if (!diags.empty()) return diags;
  return profile;
}

std::string print_profile_text(const hwdesc::Profile& profile) {
  return hwdesc::print_profile(profile);
}

Diags check_profile(const hwdesc::Profile& profile) {
  Diags out = hwdesc::check(profile);
  if (has_error(out)) return out;
  std::vector<std::string> apis;
  for (const hwdesc::Api& a : profile.apis) apis.push_back(a.name);
  if (apis.empty()) apis.emplace_back();
  for (const std::string& api : apis) {
    const Result<hwdesc::Target> target = target_of(profile, api);
    const Result<model::Machine> machine =
        target ? model::prepare(*target) : Result<model::Machine>(target.diags());
    if (machine) continue;
    for (const Diag& d : machine.diags())
      if (std::find(out.begin(), out.end(), d) == out.end()) out.push_back(d);
  }
  return out;
}

Result<hwdesc::Target> target_of(const hwdesc::Profile& profile, const std::string& api) {
  const auto& apis = profile.apis;
  const auto it = std::find_if(apis.begin(), apis.end(),
                               [&](const hwdesc::Api& a) { return api.empty() || a.name == api; });
  const std::string_view dialect =
      it == apis.end() ? std::string_view{} : codegen::dialect_text(it->dialect);
  return hwdesc::select_target(profile, api, dialect);
}

}  // namespace assay::toolkit
