#include "runtime/vulkan/spirv.h"

#include <fmt/format.h>
#include <glslang/Include/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>
#include <glslang/build_info.h>

#include <regex>

namespace assay::runtime::vulkan {
namespace {

constexpr int kGlslVersion = 450;

// Initialises glslang's process-wide tables once.
void initialise() {
  static const bool done = glslang::InitializeProcess();
  ASSAY_CHECK(done);
}

// Drivers check their own limits; these only affect parsing.
TBuiltInResource limits() {
  TBuiltInResource r{};
  r.limits.nonInductiveForLoops = r.limits.whileLoops = r.limits.doWhileLoops = true;
  r.limits.generalUniformIndexing = r.limits.generalVariableIndexing = true;
  r.limits.generalAttributeMatrixVectorIndexing = r.limits.generalVaryingIndexing = true;
  r.limits.generalSamplerIndexing = r.limits.generalConstantMatrixVectorIndexing = true;
  r.maxComputeWorkGroupCountX = r.maxComputeWorkGroupCountY = r.maxComputeWorkGroupCountZ = 65535;
  r.maxComputeWorkGroupSizeX = r.maxComputeWorkGroupSizeY = r.maxComputeWorkGroupSizeZ = 1 << 20;
  return r;
}

// "ERROR: 0:12: ..."
int line_in(const std::string& log) {
  static const std::regex kPlace(R"(ERROR: \d+:(\d{1,9}):)");
  std::smatch found;
  return std::regex_search(log, found, kPlace) ? std::stoi(found[1]) : 0;
}

Diag refusal(std::string log) {
  Diag d = error(std::move(log));
  d.line = line_in(d.message);
  return d;
}

}  // namespace

Result<std::vector<uint32_t>> compile_glsl(const std::string& text) {
  initialise();
  static const TBuiltInResource kLimits = limits();
  constexpr auto kMessages =
      static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules | EShMsgSuppressWarnings);
  glslang::TShader shader(EShLangCompute);
  const char* source = text.c_str();
  shader.setStrings(&source, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan,
                     kGlslVersion);
  shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_1);
  shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_3);
  if (!shader.parse(&kLimits, kGlslVersion, false, kMessages)) return refusal(shader.getInfoLog());
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(kMessages)) return refusal(program.getInfoLog());
  std::vector<uint32_t> words;
  glslang::SpvOptions options;
  options.disableOptimizer = true;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &options);
  if (words.empty()) return refusal("glslang gave no SPIR-V");
  return words;
}

std::string why_no_glsl_compiler() { return ""; }

std::string glsl_compiler() {
  return fmt::format("glslang {}.{}.{}", GLSLANG_VERSION_MAJOR, GLSLANG_VERSION_MINOR,
                     GLSLANG_VERSION_PATCH);
}

}  // namespace assay::runtime::vulkan
