// CHECK: for faults that only a programmer can cause. Prints place and condition, then aborts;
// cli/console/entry.cpp turns SIGABRT into exit code 70.
#pragma once

namespace assay {

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace assay

#define ASSAY_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::assay::check_failed(__FILE__, __LINE__, #condition))
