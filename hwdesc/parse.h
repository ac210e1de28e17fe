// `assay/profile/1` text -> Profile. Opens no file: a callback finds the profile that `extends`
// names. All faults are collected, each with file, line, column, source line and a hint.
//
//   schema: assay/profile/1
//   extends: <name or relative file>     the parent's fields; lists merge by key, !remove deletes
//   overrides: ["memory.hbm.bandwidth*=2"]   applied last, see override.h
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hwdesc/profile.h"
#include "support/result.h"

namespace assay::hwdesc {

inline constexpr size_t kMaxProfileBytes = size_t{4} << 20;

// (text, file) of the profile that `extends` calls `name`; `file` names it in messages.
using Library =
    std::function<std::optional<std::pair<std::string, std::string>>(std::string_view name)>;

// A library that knows no profile.
inline std::optional<std::pair<std::string, std::string>> no_library(std::string_view) {
  return std::nullopt;
}

struct ParseOptions {
  bool consistent =
      true;  // also refuse what check.h calls an error (not what only predicting needs)
  Diags* notes = nullptr;  // gets what is inherited and in doubt (inherited.h); where no error is
};

Result<Profile> parse_profile(std::string_view text, std::string_view file, const Library& lib,
                              const ParseOptions& options = {});

}  // namespace assay::hwdesc
