// A simulated chip with effects, in a file that lives as long as a test needs it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace assay::probe::testing {

class WithEffects {
 public:
  // `profile`: a name of the library, or a path.
  WithEffects(const std::string& profile, const std::string& effects)
      : folder_(std::filesystem::temp_directory_path() /
                ("assay-probed-" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directory(folder_);
    std::string name = profile;
    if (std::filesystem::is_regular_file(profile)) {
      name = "chip.yaml";
      std::filesystem::copy_file(profile, folder_ / name);
    }
    std::ofstream(folder_ / "virtual.yaml") << "schema: assay/virtual/1\nprofile: " << name << "\n"
                                            << effects;
  }
  ~WithEffects() { std::filesystem::remove_all(folder_); }
  WithEffects(const WithEffects&) = delete;
  WithEffects& operator=(const WithEffects&) = delete;

  std::string device() const { return "virtual:" + (folder_ / "virtual.yaml").string(); }
  std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace assay::probe::testing
