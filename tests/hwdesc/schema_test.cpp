// The JSON Schema, checked with an independent validator (schema_check.py, jsonschema).
#include "hwdesc/schema.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hwdesc/library.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

namespace fs = std::filesystem;

class SchemaTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("assay-schema-" + std::to_string(getpid()));
    fs::create_directories(dir_);
    std::ofstream(dir_ / "schema.json") << profile_schema();
  }
  void TearDown() override { fs::remove_all(dir_); }

  void add(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / (name + ".yaml")) << text;
  }

  // By file: the first error of the validator, empty for none.
  nlohmann::json verdicts() {
    const std::string out = (dir_ / "verdicts.json").string();
    const std::string command = "/usr/bin/python3 " + std::string(ASSAY_SOURCE_DIR) +
                                "/tests/hwdesc/schema_check.py " + dir_.string() + " > " + out;
    EXPECT_EQ(std::system(command.c_str()), 0)
        << "python3-jsonschema and python3-yaml are needed: scripts/bootstrap.sh";
    return nlohmann::json::parse(std::ifstream(out), nullptr, false);
  }

  fs::path dir_;
};

TEST_F(SchemaTest, every_profile_of_the_library_is_valid) {
  size_t n = 0;
  for (const LibraryEntry& e : library())
    if (e.kind == LibraryKind::profile) add("p" + std::to_string(n++), std::string(e.text));
  add("small", small_profile());
  const nlohmann::json said = verdicts();
  ASSERT_EQ(said.size(), n + 1);
  for (const auto& [file, complaint] : said.items()) EXPECT_EQ(complaint, "") << file;
}

struct Case {
  const char* from;
  const char* to;
  const char* complaint;  // a part of what the validator says
};

// The reader refuses each of them too: the schema is not stricter than the format.
TEST_F(SchemaTest, broken_profiles_are_refused) {
  const Case cases[] = {
      {"schema: assay/profile/1", "schema: assay/profile/2", "assay/profile/1"},
      {"name: small\n", "", "'name' is a required property"},
      {"name: small\n", "name: small\nwarp_size: 32\n", "'warp_size' was unexpected"},
      {"capacity: 32 KiB", "capacity: 32 KB", "'32 KB'"},
      {"capacity: 32 KiB", "capacity: 32", "32"},
      {"capacity: 32 KiB", "capacity: -32 KiB", "'-32 KiB'"},
      {"capacity: 32 KiB", "capcity: 32 KiB", "'capcity' was unexpected"},
      {"5 cycles@core", "5 cycles", "'5 cycles'"},
      {"read: 50 GB/s", "read: 50 GiB", "'50 GiB'"},
      {"count: 4", "count: four", "'four'"},
      {"count: 4", "count: 0", "0"},
      {"per: unit, rate", "rate", "'per' is a required property"},
      {"dtype: f32, ", "", "'dtype' is a required property"},
      {"name: l1, ", "", "'name' is a required property"},
      {"managed: explicit", "managed: scratchpad", "'scratchpad' is not one of"},
      {"source: measured\n", "source: guessed\n", "'guessed' is not one of"},
      {"{value: 90 ns, ", "{", "'value' is a required property"},
      {"n: 30", "n: 30.5", "30.5"},
      {"note: not tried", "nota: not tried", "'nota' was unexpected"},
      {"memory:\n", "memory: 3\nother:\n", "3 is not of type 'array'"},
      {"2 GHz", "2 GB", "'2 GB'"},
      {"memory:\n", "paths: [{name: texture, border: black}]\nmemory:\n", "'black'"},
      {"memory:\n", "paths: [{name: texture, border: {gave: zero}}]\nmemory:\n", "'gave': 'zero'"},
  };
  int n = 100;
  for (const Case& c : cases) {
    const std::string text = varied(c.from, c.to);
    ASSERT_NE(text, "") << c.from;
    EXPECT_NE(complaints(text), "") << c.to;
    add("p" + std::to_string(n++), text);
  }
  const nlohmann::json said = verdicts();
  n = 100;
  for (const Case& c : cases) {
    const std::string complaint = said.value("p" + std::to_string(n++) + ".yaml", "");
    EXPECT_NE(complaint.find(c.complaint), std::string::npos)
        << c.from << " -> " << c.to << ": '" << complaint << "'";
  }
}

// Fields that a parent gives are not required again.
TEST_F(SchemaTest, a_profile_that_extends_may_be_short) {
  const std::string body = "schema: assay/profile/1\nmemory: [{name: hbm, capacity: 80 GB}]\n";
  add("with", body + "extends: nvidia/a100-sxm4-40gb\n");
  add("without", body);
  const nlohmann::json said = verdicts();
  EXPECT_EQ(said["with.yaml"], "");
  EXPECT_NE(said["without.yaml"], "");
}

}  // namespace
}  // namespace assay::hwdesc
