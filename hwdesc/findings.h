// Constructors of findings, for checks.
#pragma once

#include "hwdesc/check.h"

namespace assay::hwdesc {

using Findings = std::vector<Finding>;

inline void fault(Findings& out, std::string path, std::string message, std::string hint = "") {
  out.push_back({Severity::error, std::move(path), std::move(message), std::move(hint)});
}

inline void warn(Findings& out, std::string path, std::string message, std::string hint = "") {
  out.push_back({Severity::warning, std::move(path), std::move(message), std::move(hint)});
}

}  // namespace assay::hwdesc
