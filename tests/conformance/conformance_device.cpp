#include "tests/conformance/conformance_device.h"

#include <cstdlib>
#include <stdexcept>

#include "tests/runtime/host.h"
#include "toolkit/profiles.h"

namespace assay::test {

std::unique_ptr<runtime::Device> open_tested_device(std::string& absence) {
  const std::string id = runtime::tested_device();
  for (const runtime::Absence& a : runtime::devices().absent)
    if (id.starts_with(a.id + ":")) {
      absence = a.reason;
      return nullptr;
    }
  auto device = runtime::open(id);
  if (!device.ok()) throw std::runtime_error(render(device.diags()));
  return std::move(*device);
}

int tested_every() {
  const char* named = std::getenv("ASSAY_TEST_EVERY");
  const int every = named == nullptr ? 1 : std::stoi(named);
  if (every < 1) throw std::runtime_error("ASSAY_TEST_EVERY is below 1");
  return every;
}

Result<hwdesc::Target> target_for(const std::string& api) {
  const char* named = std::getenv("ASSAY_TEST_PROFILE");
  const auto profile = toolkit::load_profile(named == nullptr ? "generic/x86-avx512-2core" : named);
  if (!profile) return profile.diags();
  return toolkit::target_of(*profile, api);
}

}  // namespace assay::test
