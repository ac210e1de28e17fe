#include "probe/opened_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "probe/inference/values.h"
#include "probe/journal.h"
#include "probe/kernels/kernels.h"
#include "probe/sampling/bench.h"
#include "runtime/source.h"

namespace assay::probe {
namespace {

hwdesc::Target target_for(const runtime::DeviceInfo& info, std::vector<hwdesc::NamedText> forms) {
  hwdesc::Target t;
  t.api.forms = std::move(forms);
  t.profile.name = "unprobed";
  t.api.name = info.api;
  t.api.dialect = t.dialect.name = runtime::dialect_of(info);
  hwdesc::Lanes& lanes = t.profile.execution.lanes;
  lanes.style = info.threads ? hwdesc::LaneStyle::simt : hwdesc::LaneStyle::simd;
  for (const int width : shape_of(info).lanes) {
    hwdesc::LaneMode mode;
    mode.width = known_value(hwdesc::Count{static_cast<double>(width)}, hwdesc::Origin::driver, "");
    lanes.modes.push_back(std::move(mode));
  }
  return t;
}

std::unique_ptr<runtime::Module> loaded(const OpenedDevice& d, std::span<const ir::Kernel> kernels,
                                        bool one_by_one, const hwdesc::Target& target) {
  runtime::LoadOptions load;
  load.cache_dir = d.cache_dir;
  load.one_by_one = one_by_one;
  auto module = d.device->load(kernels, target, load);
  if (!module) fail(module.diags());
  return std::move(module).value();
}

// A fact of a device that could not be opened: its message, a line for each field.
constexpr const char* kNotOpened = "not_opened";

std::string fields_of(const Diag& d) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", d.file, d.line, d.col, d.message, d.hint,
                     d.source_line);
}

Diag diag_of(const std::string& fields) {
  std::istringstream in(fields);
  std::string line, col;
  Diag d = error("");
  std::getline(in, d.file);
  std::getline(in, line);
  std::getline(in, col);
  std::getline(in, d.message);
  std::getline(in, d.hint);
  std::getline(in, d.source_line);
  d.line = std::atoi(line.c_str());
  d.col = std::atoi(col.c_str());
  return d;
}

}  // namespace

Result<OpenedDevice> OpenedDevice::open(const std::string& id, const std::string& cache_dir) {
  auto opened = runtime::open(id);
  if (!opened) return opened.diags();
  OpenedDevice out{std::move(opened).value(), {}, cache_dir};
  out.kernels = all_kernels(shape_of(out.info()));
  return out;
}

std::unique_ptr<runtime::Module> OpenedDevice::load(std::span<const ir::Kernel> of, bool one_by_one,
                                                    std::vector<hwdesc::NamedText> forms) const {
  return loaded(*this, of, one_by_one, target_for(info(), std::move(forms)));
}

std::unique_ptr<runtime::Module> OpenedDevice::load_for(
    const runtime::DeviceInfo& shape, std::span<const ir::Kernel> of,
    std::vector<hwdesc::NamedText> forms) const {
  return loaded(*this, of, false, target_for(shape, std::move(forms)));
}

void launch_all(runtime::Module& module, const std::vector<ir::Kernel>& kernels) {
  constexpr int64_t kBytes = 4 << 20;
  const auto zeros = module.allocate(kBytes), written = module.allocate(kBytes);
  if (!zeros || !written) return;
  std::vector<runtime::Launch> all;
  for (size_t k = 0; k < kernels.size(); ++k) {
    runtime::Launch l{static_cast<int>(k), {}, {{0, 0, 1}}};
    for (const ir::Buffer& b : kernels[k].buffers)
      if (b.scope == ir::Scope::global) l.arguments.push_back({b.written ? *written : *zeros, 0});
    all.push_back(std::move(l));
  }
  if (auto times = module.run(all, {}); !times) fail(times.diags());
}

void send_facts(const runtime::DeviceInfo& info, const Send& send) {
  send(to_line("cpu", info.name));
  send(to_line("name", info.name));
  send(to_line("api", info.api));
  send(to_line("dialect", runtime::dialect_of(info)));
  send(to_line("units", std::to_string(info.units)));
  send(to_line("lanes", info.threads ? "threads" : "vectors"));
  send(to_line("widths", fmt::format("{}", fmt::join(shape_of(info).lanes, " "))));
  if (info.clock_hz > 0) send(to_line("clock_hz", fmt::format("{:.0f}", info.clock_hz)));
  if (info.simulated) send(to_line("simulated", "yes"));
  send(to_line("memory_bytes", std::to_string(info.memory_bytes)));
  for (const auto& [name, text] : info.facts) send(to_line(name, text));
}

void send_not_opened(const Diags& why, const Send& send) {
  for (const Diag& d : why) send(to_line(kNotOpened, fields_of(d)));
}

Diags not_opened(const Observations& said) {
  Diags out;
  for (const auto& [name, text] : said.facts)
    if (name == kNotOpened) out.push_back(diag_of(text));
  return out;
}

}  // namespace assay::probe
