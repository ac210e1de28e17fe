// CHECK: for faults only we can cause. Prints place and condition, then aborts (exit by SIGABRT is
// turned into exit code 70 by console/entry.cpp).
#pragma once

namespace assay {

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace assay

#define ASSAY_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::assay::check_failed(__FILE__, __LINE__, #condition))
