// A directory that exists until the test ends.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace assay::test {

class ScratchDirectory {  // invariant: path() exists and is this test's alone
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace assay::test
