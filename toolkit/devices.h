// Devices by id, ready to build kernels for a target.
#pragma once

#include <memory>
#include <string>

#include "hwdesc/target.h"
#include "runtime/device.h"
#include "support/result.h"

namespace assay::toolkit {

// Errors: no such device; it runs another api than the target's; it can not build kernels now (no
// compiler, no folder for built kernels).
Result<std::unique_ptr<runtime::Device>> open_ready(const std::string& id,
                                                    const hwdesc::Target& target);

// The id of the first device here that runs `api`. Errors: none does, with the reason if known.
Result<std::string> first_device(const std::string& api);

}  // namespace assay::toolkit
