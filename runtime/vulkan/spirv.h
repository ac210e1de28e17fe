// GLSL -> SPIR-V, in process. Thread-safe, no file is opened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.h"

namespace assay::runtime::vulkan {

// Errors: the compiler's log, whole, and the line of its first error (`Diag::line`; no file).
Result<std::vector<uint32_t>> compile_glsl(const std::string& text);

// Why this build has no such compiler; "" if it has one.
std::string why_no_glsl_compiler();

// Name and version of the compiler, on which cached SPIR-V depends.
std::string glsl_compiler();

}  // namespace assay::runtime::vulkan
