// A fake device: launches are serial and take the times of the test.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "runtime/device.h"

namespace assay::probe::test {

class FakeModule : public runtime::Module {
 public:
  Result<int> allocate(int64_t bytes) override {
    largest_ = std::max(largest_, bytes);
    return buffers_++;
  }
  int64_t largest() const { return largest_; }  // bytes of the largest buffer so far
  void write(runtime::BufferRange to, std::span<const std::byte> data) override {
    std::vector<float>& values = written_[{to.buffer, to.offset}];
    values.resize(data.size() / sizeof(float));
    std::memcpy(values.data(), data.data(), values.size() * sizeof(float));
  }
  void write_words(int, std::span<const runtime::Word>) override {}
  void read(runtime::BufferRange, std::span<std::byte>) const override {}
  Result<runtime::RunTimes> run(std::span<const runtime::Launch> launches,
                                const runtime::RunOptions&) override {
    runtime::RunTimes out;
    out.busy.emplace_back();
    out.total = {0};
    start_run();
    for (const runtime::Launch& l : launches) {
      out.busy[0].push_back(seconds_of(l));
      out.total[0] += out.busy[0].back();
    }
    out.steps = out.busy;
    out.executed = executed();
    return out;
  }
  const std::vector<runtime::KernelReport>& reports() const override { return reports_; }
  double build_seconds() const override { return 0; }
  const Diags& warnings() const override { return warnings_; }

 protected:
  virtual void start_run() {}
  virtual double seconds_of(const runtime::Launch& l) = 0;
  virtual int64_t executed() const { return 0; }
  // The floats a launch was given, in its last argument.
  const std::vector<float>& asked(const runtime::Launch& l) const {
    return written_.at({l.arguments.back().buffer, l.arguments.back().offset});
  }

 private:
  int buffers_ = 0;
  int64_t largest_ = 0;
  std::map<std::pair<int, int64_t>, std::vector<float>> written_;
  std::vector<runtime::KernelReport> reports_;
  Diags warnings_;
};

}  // namespace assay::probe::test
