// The command `devices`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/console/options.h"
#include "cli/console/report.h"
#include "cli/console/table.h"
#include "runtime/device.h"

namespace assay::console {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const runtime::Found& found) {
  Json out = {{"devices", Json::array()}, {"absent", Json::array()}};
  for (const runtime::DeviceInfo& d : found.devices) {
    Json facts = Json::object();
    for (const auto& [key, value] : d.facts) facts[key] = value;
    out["devices"].push_back({{"id", d.id},
                              {"name", d.name},
                              {"api", d.api},
                              {"units", d.units},
                              {"memory_bytes", d.memory_bytes},
                              {"facts", facts}});
  }
  for (const runtime::Absence& a : found.absent)
    out["absent"].push_back({{"id", a.id}, {"reason", a.reason}});
  return out;
}

void print_text(const runtime::Found& found) {
  for (const runtime::DeviceInfo& d : found.devices) {
    fmt::print("{:<10} {}\n{:<10} api {}, {} units, {}\n", d.id, d.name, "", d.api, d.units,
               bytes(static_cast<double>(d.memory_bytes)));
    for (const auto& [key, value] : d.facts) fmt::print("{:<10} {}: {}\n", "", key, value);
  }
  for (const runtime::Absence& a : found.absent)
    fmt::print("{:<10} not usable: {}\n", a.id, a.reason);
  for (const runtime::Absence& a : found.named) fmt::print("{:<10} {}\n", a.id + "NAME", a.reason);
  if (found.devices.empty())
    fmt::print("no device here can run kernels; predicting and compiling need none\n");
}

}  // namespace

ExitCode run_devices(const Command& self, std::span<const std::string> arguments, const Context&) {
  Options options(self);
  options.add_format();
  if (const auto stop = options.parse(arguments)) return *stop;
  const runtime::Found found = runtime::devices();
  if (options.format() == Format::json)
    print_json(to_json(found));
  else
    print_text(found);
  return ExitCode::ok;
}

}  // namespace assay::console
