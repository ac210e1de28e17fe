// The small chips of this folder.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "hwdesc/parse.h"

namespace assay::probe::testing {

inline std::string chip_file(const std::string& name) {
  return std::string(ASSAY_SOURCE_DIR) + "/tests/probe/virtual/chips/" + name + ".yaml";
}

inline hwdesc::Profile chip_profile(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(chip_file(name)).rdbuf();
  auto profile = hwdesc::parse_profile(text.str(), chip_file(name), hwdesc::no_library);
  if (!profile) throw std::runtime_error(render(profile.diags()));
  return std::move(profile).value();
}

}  // namespace assay::probe::testing
