#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold; this is a fault of assay\n", file,
               line, condition);
  std::abort();
}

}  // namespace assay
