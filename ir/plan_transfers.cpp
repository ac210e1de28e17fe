// Tensors in host memory and transfers of a plan.
#include <algorithm>
#include <set>

#include "ir/plan.h"

namespace assay::ir {

namespace {

bool is_row_major(const PlanTensor& t) {
  return t.layout == row_major(static_cast<int>(t.shape.size()));
}

// A region of the host tensor, at the transfer's begin, in the shape of the device tensor.
std::string region_fault(const PlanTensor& device, const PlanTensor& host, const Transfer& t) {
  if (device.dtype != host.dtype) return "its two tensors have different types";
  if (t.begin.size() != host.shape.size() || device.shape.size() != host.shape.size())
    return "its region has not as many dimensions as its tensors";
  for (size_t d = 0; d < t.begin.size(); ++d)
    if (t.begin[d] < 0 || t.begin[d] > host.shape[d] - device.shape[d])
      return "its region does not lie inside tensor " + host.name;
  if (!is_row_major(host) && (device.layout != host.layout || device.shape != host.shape))
    return "tensor " + host.name + " is packed, and is copied whole in its layout alone";
  return "";
}

}  // namespace

std::pair<size_t, size_t> transfers_before(const Plan& p, size_t step) {
  const auto [first, last] = std::equal_range(
      p.transfers.begin(), p.transfers.end(), Transfer{.step = static_cast<int>(step)},
      [](const Transfer& a, const Transfer& b) { return a.step < b.step; });
  return {static_cast<size_t>(first - p.transfers.begin()),
          static_cast<size_t>(last - p.transfers.begin())};
}

int64_t bytes_of(const Plan& p, const Transfer& t) {
  const PlanTensor& device = p.tensors[static_cast<size_t>(t.device)];
  return physical_elements(device.layout, device.shape) * bytes_of(device.dtype);
}

std::string transfer_fault(const Plan& p, const Transfer& t) {
  const auto exists = [&](int id) { return id >= 0 && id < static_cast<int>(p.tensors.size()); };
  if (t.step < 0 || t.step > static_cast<int>(p.steps.size()))
    return "a transfer comes before a step that does not exist";
  const bool clear = t.way == Transfer::Way::clear;
  if (!exists(t.device) || (!clear && !exists(t.host)))
    return "a transfer names a tensor that does not exist";
  const PlanTensor& device = p.tensors[static_cast<size_t>(t.device)];
  if (device.host || device.kind == TensorKind::constant)
    return "a transfer needs a tensor of the device's arena, " + device.name + " is none";
  if (clear)
    return t.host == -1 && t.begin.empty() ? "" : "clearing has no host tensor and no region";
  const PlanTensor& host = p.tensors[static_cast<size_t>(t.host)];
  if (!host.host) return "tensor " + host.name + " of a transfer does not lie in host memory";
  if (t.way == Transfer::Way::download &&
      (host.kind == TensorKind::constant || host.kind == TensorKind::input))
    return "tensor " + host.name + " is never written, and a transfer writes it";
  const std::string fault = region_fault(device, host, t);
  return fault.empty() ? "" : "a transfer of tensor " + device.name + ": " + fault;
}

Diags verify_transfers(const Plan& p) {
  Diags out;
  const auto fail = [&](const std::string& message) {
    out.push_back(error("plan " + p.name + ": " + message));
  };
  const auto in_host = [](const PlanTensor& t) { return t.host; };
  if (p.memory == 0) {
    if (!p.transfers.empty() || p.host_bytes != 0 || p.host_weights_bytes != 0 ||
        std::any_of(p.tensors.begin(), p.tensors.end(), in_host))
      fail("something lies in host memory, and there is no limit `memory`");
    return out;
  }
  if (p.arena_bytes > p.memory || p.weights_bytes > p.memory - p.arena_bytes)
    fail("arena and weights take more than `memory`");
  std::set<int> written;
  for (size_t i = 0; i < p.transfers.size(); ++i) {
    const Transfer& t = p.transfers[i];
    if (const std::string fault = transfer_fault(p, t); !fault.empty()) {
      fail(fault);
      continue;
    }
    if (i > 0 && t.step < p.transfers[i - 1].step) fail("transfers are not in the order of steps");
    if (t.way == Transfer::Way::download) written.insert(t.host);
    if (t.way != Transfer::Way::upload) continue;
    const PlanTensor& from = p.tensors[static_cast<size_t>(t.host)];
    if (from.kind != TensorKind::constant && from.kind != TensorKind::input &&
        !written.contains(t.host))
      fail("tensor " + from.name + " is uploaded before anything was downloaded to it");
  }
  return out;
}

}  // namespace assay::ir
