// Replaces vulkan/spirv.cpp in builds without glslang: no Vulkan device is usable then.
#include "runtime/vulkan/spirv.h"

namespace assay::runtime::vulkan {

std::string why_no_glsl_compiler() {
  return "this build has no compiler from GLSL to SPIR-V (glslang was not there when it was "
         "configured)";
}

Result<std::vector<uint32_t>> compile_glsl(const std::string&) {
  return error(why_no_glsl_compiler());
}

std::string glsl_compiler() { return "none"; }

}  // namespace assay::runtime::vulkan
