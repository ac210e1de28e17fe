// Transfers between host memory and the device.
#include <fmt/format.h>

#include "simulator/estimate.h"
#include "support/check.h"

namespace assay::simulator {

model::Estimate estimate(const ir::Plan& plan, const ir::Transfer& t, const model::Machine& m) {
  ASSAY_CHECK(m.host_link.has_value());
  const bool down = t.way == ir::Transfer::Way::download;
  const model::Quantity& rate = down ? m.host_link->from_device : m.host_link->to_device;
  const model::Quantity& latency = m.host_link->latency;
  const auto bytes = static_cast<double>(ir::bytes_of(plan, t));
  const double moving = bytes / rate.value,
               spread = moving * rate.spread + latency.value * latency.spread;
  model::Estimate out;
  out.seconds = latency.value + moving;
  out.low = out.seconds - spread;
  out.high = out.seconds + spread;
  out.efficiency = 1;
  out.bound = down ? "download" : "upload";
  const std::string detail = fmt::format("{:.0f} bytes at {:.3g} GB/s", bytes, rate.value * 1e-9);
  out.terms = {{out.bound, out.seconds, detail}};
  out.tree = model::join("estimate", model::Part::Joins::sum,
                         {model::leaf("latency", latency.value, "", {model::duration_of(latency)}),
                          model::leaf(out.bound, moving, detail, {model::bandwidth_of(rate)})});
  if (rate.assumed) out.assumed = {rate.path + ": of copies from and to the host"};
  return out;
}

}  // namespace assay::simulator
