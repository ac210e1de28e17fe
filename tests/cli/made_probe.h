// Made-up observations, for tests of `probe --from`.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace assay::test {

inline void add_sample(std::ostream& to, const std::string& experiment, const std::string& what,
                       const nlohmann::json& at, double seconds) {
  for (int block = 0; block < 4; ++block)
    to << nlohmann::json{{"kind", "sample"},
                         {"experiment", experiment},
                         {"what", what},
                         {"at", at},
                         {"unit", "s"},
                         {"foreign", 0.0},
                         {"clock_hz", 3e9},
                         {"samples", {seconds, seconds * 1.001, seconds * 1.002}},
                         {"disturbed", {0.0, 0.0, 0.0}}}
              .dump()
       << "\n";
}

// A chip with two caches; its arithmetic takes `slowdown` times as long.
inline void record(const std::string& directory, const std::string& api, double slowdown) {
  std::filesystem::create_directories(directory);
  std::ofstream out(directory + "/journal.jsonl");
  for (double bytes = 8192; bytes < 3e8; bytes *= 1.25)
    add_sample(out, "chase", "chase", {{"bytes", std::round(bytes / 64) * 64}},
               bytes < 4e4     ? 1.3e-9
               : bytes < 1.2e6 ? 4e-9
                               : 9e-8);
  add_sample(out, "clock", "sentinel", nlohmann::json::object(), 1 / 3e9);
  for (const int chains : {1, 8})
    add_sample(out, "fma", "fma", {{"lanes", 8}, {"chains", chains}}, slowdown * 1.3e-9 / chains);
  add_sample(out, "launch", "eager", {{"units", 2}}, 2e-5);
  for (const auto& [name, text] : {std::pair{"name", "made chip"},
                                   {"units", "2"},
                                   {"memory_bytes", "8589934592"},
                                   {"class", "cpu"},
                                   {"date", "2026-01-02"}})
    out << nlohmann::json{{"kind", "fact"}, {"name", name}, {"text", text}}.dump() << "\n";
  out << nlohmann::json{{"kind", "fact"}, {"name", "api"}, {"text", api}}.dump() << "\n";
}

}  // namespace assay::test
