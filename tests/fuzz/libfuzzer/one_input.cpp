// The entry that libFuzzer calls, for the target that this executable was built for.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const assay::fuzz::Target& t : assay::fuzz::targets())
    if (t.name == ASSAY_FUZZ_TARGET) t.run(bytes);
  return 0;
}
