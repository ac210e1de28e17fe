#include "toolkit/devices.h"

namespace assay::toolkit {

Result<std::unique_ptr<runtime::Device>> open_ready(const std::string& id,
                                                    const hwdesc::Target& target) {
  Result<std::unique_ptr<runtime::Device>> device = runtime::open(id);
  if (!device) return device;
  const std::string& runs = (*device)->info().api;
  if (runs != target.api.name)
    return error("device " + id + " runs api '" + runs + "', the kernels are for api '" +
                     target.api.name + "'",
                 "compile the model for a profile that has the api '" + runs + "'");
  const Result<std::unique_ptr<runtime::Module>> nothing = (*device)->load({}, target, {});
  if (!nothing) return nothing.diags();
  return device;
}

Result<std::string> first_device(const std::string& api) {
  if (const auto processor = runtime::open("cpu:0"); processor && (*processor)->info().api == api)
    return std::string("cpu:0");  // no driver is loaded for it
  const runtime::Found found = runtime::devices();
  for (const runtime::DeviceInfo& d : found.devices)
    if (d.api == api) return d.id;
  std::string why = "this version runs none", hint;
  for (const runtime::Absence& a : found.absent)
    if ((a.api.empty() ? a.id : a.api) == api) why = a.reason, hint = a.hint;
  return error("no device here runs api '" + api + "': " + why, hint);
}

}  // namespace assay::toolkit
