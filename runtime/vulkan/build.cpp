#include "runtime/vulkan/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include "codegen/render.h"
#include "runtime/source.h"
#include "runtime/vulkan/spirv.h"
#include "support/hash.h"

namespace assay::runtime::vulkan {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<uint32_t>;

struct Builder {
  const BuildRequest& request;
  KernelCache& cache;
  std::vector<Source> sources;
  const Session& session = request.session;
  const Api& api = session.api();
  Owned<VkPipelineCache> drivers{};  // the driver's own cache of built pipelines
  std::map<std::string, std::shared_ptr<const Pipeline>> pipelines{};  // by hash
  bool fresh = false;                                                  // something was compiled
  Diags diags{};

  std::string pipelines_key() const;
  bool open_pipeline_cache();
  void store_pipeline_cache();
  void store(const std::string& bytes, const char* ending, const std::string& key);
  std::optional<Words> cached(const std::string& key);
  std::optional<Words> compile(size_t kernel);
  std::optional<Pipeline> layouts(const ir::Kernel& kernel);
  std::shared_ptr<const Pipeline> make(size_t kernel);
  std::string text_of(size_t kernel) const;
  void complain(size_t kernel, Diag what);
  bool failed(VkResult status, const char* call) {
    if (status != VK_SUCCESS) diags.push_back(failure(call, status));
    return status != VK_SUCCESS;
  }
};

std::string Builder::pipelines_key() const {
  std::string all = "pipelines\n" + session.fingerprint();
  for (const Source& s : sources) all += '\n' + s.hash;
  return hash_hex(all);
}

// Drivers check the data's header and start empty if it is not theirs.
bool Builder::open_pipeline_cache() {
  std::string known;
  if (const auto found = cache.find(pipelines_key())) known = read_file(found->file).value_or("");
  auto wanted = made<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  wanted.initialDataSize = known.size();
  wanted.pInitialData = known.data();
  VkPipelineCache handle = VK_NULL_HANDLE;
  if (failed(api.vkCreatePipelineCache(session.device(), &wanted, nullptr, &handle),
             "vkCreatePipelineCache"))
    return false;
  drivers = {session.device(), handle, api.vkDestroyPipelineCache};
  return true;
}

void Builder::store_pipeline_cache() {
  size_t size = 0;
  if (api.vkGetPipelineCacheData(session.device(), drivers.get(), &size, nullptr) != VK_SUCCESS ||
      size == 0)
    return;
  std::string bytes(size, '\0');
  if (api.vkGetPipelineCacheData(session.device(), drivers.get(), &size, bytes.data()) !=
      VK_SUCCESS)
    return;
  bytes.resize(size);
  store(bytes, "built.pipelines", pipelines_key());
}

// What can not be written is built again next time.
void Builder::store(const std::string& bytes, const char* name, const std::string& key) {
  const auto folder = cache.make_work_folder();
  if (!folder) return;
  const fs::path file = *folder / name;
  if (write_file(file, bytes))
    if (const auto library = cache.add_library(file)) cache.add(key, *library, -1);
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
}

std::optional<Words> Builder::cached(const std::string& key) {
  const auto found = cache.find(key);
  const auto bytes = found ? read_file(found->file) : std::nullopt;
  if (!bytes || bytes->empty() || bytes->size() % sizeof(uint32_t) != 0) return std::nullopt;
  Words words(bytes->size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes->data(), bytes->size());
  return words;
}

std::string Builder::text_of(size_t kernel) const {
  const std::vector<ir::Kernel> one{named(request.kernels[kernel], symbol_of(sources[kernel]))};
  const auto text = codegen::render(one, request.dialect, request.threads);
  ASSAY_CHECK(text.ok());  // each of them was rendered before
  return *text;
}

// Saves the source, since the log refers to its lines.
void Builder::complain(size_t kernel, Diag what) {
  const std::string text = text_of(kernel);
  if (what.message.size() > 4000) what.message = what.message.substr(0, 4000) + "\n...";
  what.message = fmt::format("kernel '{}' is not built for {}: {}", request.kernels[kernel].name,
                             session.id(), what.message);
  std::error_code ignored;
  const fs::path folder = cache.root() / "failed";
  fs::create_directories(folder, ignored);
  const fs::path file = folder / (sources[kernel].hash + ".comp");
  if (write_file(file, text)) {
    what.file = file.string();
    what.line = std::max(1, what.line);
    what.col = 1;
    what.source_line = line_of(text, what.line);
  }
  diags.push_back(std::move(what));
}

std::optional<Words> Builder::compile(size_t kernel) {
  fresh = true;
  auto words = compile_glsl(text_of(kernel));
  if (!words) {
    complain(kernel, words.diags()[0]);
    return std::nullopt;
  }
  store({reinterpret_cast<const char*>(words->data()), words->size() * sizeof(uint32_t)},
        "kernel.spv", sources[kernel].hash);
  return std::move(words).value();
}

std::optional<Pipeline> Builder::layouts(const ir::Kernel& kernel) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  const auto add = [&](VkDescriptorType type) {
    bindings.push_back(
        {static_cast<uint32_t>(bindings.size()), type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  };
  add(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  for (const ir::Buffer& b : kernel.buffers)
    if (b.scope == ir::Scope::global) add(descriptor_of(b));
  auto set =
      made<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = static_cast<uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  Pipeline p;
  VkDescriptorSetLayout set_handle = VK_NULL_HANDLE;
  if (failed(api.vkCreateDescriptorSetLayout(session.device(), &set, nullptr, &set_handle),
             "vkCreateDescriptorSetLayout"))
    return std::nullopt;
  p.set = {session.device(), set_handle, api.vkDestroyDescriptorSetLayout};
  const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(PushConstants)};
  auto layout = made<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_handle;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &constants;
  VkPipelineLayout layout_handle = VK_NULL_HANDLE;
  if (failed(api.vkCreatePipelineLayout(session.device(), &layout, nullptr, &layout_handle),
             "vkCreatePipelineLayout"))
    return std::nullopt;
  p.layout = {session.device(), layout_handle, api.vkDestroyPipelineLayout};
  return p;
}

std::shared_ptr<const Pipeline> Builder::make(size_t kernel) {
  auto words = cached(sources[kernel].hash);
  if (!words) words = compile(kernel);
  if (!words) return nullptr;
  auto p = layouts(request.kernels[kernel]);
  if (!p) return nullptr;
  auto code = made<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  code.codeSize = words->size() * sizeof(uint32_t);
  code.pCode = words->data();
  VkShaderModule shader_handle = VK_NULL_HANDLE;
  VkResult status = api.vkCreateShaderModule(session.device(), &code, nullptr, &shader_handle);
  const Owned<VkShaderModule> shader{session.device(), shader_handle, api.vkDestroyShaderModule};
  auto wanted = made<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  wanted.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  wanted.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  wanted.stage.module = shader.get();
  wanted.stage.pName = "main";
  wanted.layout = p->layout.get();
  VkPipeline handle = VK_NULL_HANDLE;
  const char* call = "vkCreateShaderModule";
  if (status == VK_SUCCESS) {
    call = "vkCreateComputePipelines";
    status =
        api.vkCreateComputePipelines(session.device(), drivers.get(), 1, &wanted, nullptr, &handle);
  }
  if (status != VK_SUCCESS) {
    complain(kernel, failure(call, status));
    return nullptr;
  }
  p->pipeline = {session.device(), handle, api.vkDestroyPipeline};
  return std::make_shared<const Pipeline>(std::move(*p));
}

}  // namespace

VkDescriptorType descriptor_of(const ir::Buffer& argument) {
  switch (argument.space) {
    case ir::Space::constant:
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    case ir::Space::image:
      return VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    case ir::Space::plain:
      break;
  }
  return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

Result<Build> build(const BuildRequest& request, KernelCache& cache) {
  const std::string identity = glsl_compiler() + '\n' + request.session.fingerprint();
  auto sources = sources_of(request.kernels, request.dialect, identity, request.threads);
  if (!sources) return sources.diags();
  Builder b{request, cache, std::move(sources).value()};
  const auto start = std::chrono::steady_clock::now();
  if (!b.open_pipeline_cache()) return std::move(b.diags);
  Build out;
  for (size_t i = 0; i < request.kernels.size(); ++i) {
    if (request.options.cancel != nullptr && request.options.cancel->load())
      return error("cancelled");
    auto& known = b.pipelines[b.sources[i].hash];
    if (known == nullptr) known = b.make(i);
    out.kernels.push_back(known);
    if (request.options.progress)
      request.options.progress(static_cast<int64_t>(i) + 1,
                               static_cast<int64_t>(request.kernels.size()),
                               request.kernels[i].name);
  }
  if (has_error(b.diags)) return std::move(b.diags);
  if (b.fresh) {
    b.store_pipeline_cache();
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return out;
}

}  // namespace assay::runtime::vulkan
