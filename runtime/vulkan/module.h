// The runtime::Module of a Vulkan device: built kernels, buffers, launches in order.
#pragma once

#include <memory>
#include <vector>

#include "runtime/vulkan/launcher.h"

namespace assay::runtime::vulkan {

// Errors: every kernel that exceeds the device's limits.
Diags check_kernels(const Session& session, std::span<const ir::Kernel> kernels);

class VulkanModule final : public Module {  // invariant: launcher_ runs what loaded_ holds
 public:
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<Session> session,
                                              std::span<const ir::Kernel> kernels, Build build,
                                              bool guarded, Diags warnings);

  Result<int> allocate(int64_t bytes) override { return loaded_->buffers.allocate(bytes); }
  Result<int> allocate_image(const ImageShape& shape) override {
    return loaded_->buffers.allocate_image(shape);
  }
  void write(BufferRange to, std::span<const std::byte> data) override {
    loaded_->buffers.write(to, data);
  }
  void write_words(int buffer, std::span<const Word> words) override {
    loaded_->buffers.write_words(buffer, words);
  }
  void read(BufferRange from, std::span<std::byte> data) const override {
    loaded_->buffers.read(from, data);
  }
  Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) override;
  const std::vector<KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return loaded_->build.seconds; }
  const Diags& warnings() const override { return warnings_; }

 private:
  std::shared_ptr<Session> session_;  // first, so destroyed last
  std::unique_ptr<Loaded> loaded_;
  std::unique_ptr<Launcher> launcher_;
  std::vector<KernelReport> reports_;
  Diags warnings_;
};

}  // namespace assay::runtime::vulkan
