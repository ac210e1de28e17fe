// Runs each fuzz target on every file of corpus/, which holds the inputs that fuzzing found.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/targets.h"

namespace assay::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 5;  // of one file; the slowest takes a few milliseconds

TEST(Replay, NoFileOfTheCorpusBreaksAPromise) {
  for (const Target& t : targets()) {
    const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "tests/fuzz/corpus" / t.name;
    size_t files = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path());
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream bytes;
      bytes << in.rdbuf();
      const auto start = std::chrono::steady_clock::now();
      t.run(bytes.str());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      EXPECT_LT(took.count(), kMostSeconds);
      ++files;
    }
    EXPECT_GT(files, 0U) << folder;
  }
}

}  // namespace
}  // namespace assay::fuzz
