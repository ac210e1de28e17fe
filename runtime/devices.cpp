// The table of device kinds, one row per folder.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/cpu/device.h"
#include "runtime/cuda/device.h"
#include "runtime/device.h"
#include "runtime/opencl/device.h"
#include "runtime/virtual/device.h"
#include "runtime/vulkan/device.h"
#include "support/edit_distance.h"

namespace assay::runtime {
namespace {

struct Kind {
  const char* name;
  Found (*find)();                                                 // never fails
  Result<std::unique_ptr<Device>> (*open)(const std::string& id);  // of an id that find() lists
};

constexpr Kind kKinds[] = {
    {"cpu", cpu::find, [](const std::string&) { return cpu::open(); }},
    {"opencl", opencl::find, opencl::open},
    {"cuda", cuda::find, cuda::open},
    {"vulkan", vulkan::find, vulkan::open},
};

}  // namespace

Found devices() {
  Found all;
  for (const Kind& kind : kKinds) {
    Found f = kind.find();
    all.devices.insert(all.devices.end(), f.devices.begin(), f.devices.end());
    all.absent.insert(all.absent.end(), f.absent.begin(), f.absent.end());
  }
  all.named = simulated::find().named;
  return all;
}

Result<std::unique_ptr<Device>> open(const std::string& id) {
  if (id.starts_with(simulated::kPrefix))
    return simulated::open(id);  // one for every profile, so none is listed
  std::vector<std::string> ids;
  for (const Kind& kind : kKinds) {
    const Found found = kind.find();
    for (const DeviceInfo& d : found.devices) {
      if (d.id == id) return kind.open(id);
      ids.push_back(d.id);
    }
    for (const Absence& a : found.absent)
      if (a.id == id || id.starts_with(a.id + ":"))
        return error(fmt::format("device '{}' is not usable: {}", id, a.reason), a.hint);
  }
  const std::string near = nearest(id, ids);
  return error(fmt::format("there is no device '{}'; there {}", id,
                           ids.empty() ? "are none" : fmt::format("are: {}", fmt::join(ids, ", "))),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

}  // namespace assay::runtime
