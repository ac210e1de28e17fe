// Long-running functions report to a callback and are stopped by a token. They never print.
#pragma once

#include "runtime/device.h"

namespace assay::toolkit {

using runtime::CancelToken;
using runtime::Progress;

inline bool cancelled(const CancelToken* token) { return token != nullptr && token->load(); }

inline void report(const Progress& progress, int64_t done, int64_t total, const std::string& what) {
  if (progress) progress(done, total, what);
}

}  // namespace assay::toolkit
