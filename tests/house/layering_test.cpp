// The house: includes go down only, and never across the wings. One table says what a folder may
// include; this test walks every #include "folder/..." line of src/ against it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

using Table = std::map<std::string, std::set<std::string>>;

// folder -> folders whose headers it may include (itself always). A row that is not here may
// include nothing, so a new folder fails until it is given a place.
const Table& allowed() {
  static const Table table = [] {
    const std::set<std::string> hall = {"base", "ir", "hwdesc"};
    const auto with = [](std::set<std::string> a, const std::set<std::string>& b) {
      a.insert(b.begin(), b.end());
      return a;
    };
    Table t;
    t["base"] = {};
    t["files"] = {"base"};
    t["ir"] = {"base"};
    t["hwdesc"] = {"base"};
    t["import"] = {"base", "ir"};
    t["lower"] = hall;
    // prediction wing
    t["model"] = with(hall, {"lower"});
    t["simulator"] = with(hall, {"lower", "model"});
    t["compiler"] = with(hall, {"lower", "model", "simulator"});
    // device wing
    t["codegen"] = hall;
    t["runtime"] = with(hall, {"codegen"});
    t["probe"] = with(hall, {"codegen", "runtime"});
    // programs of the device wing alone
    t["console"] = with(t["probe"], {"probe", "files"});
    t["probe_app"] = {"base", "console"};
    // joined once
    t["toolkit"] = with(hall, {"import", "lower", "model", "simulator", "compiler", "codegen",
                               "runtime", "probe", "files"});
    t["cli"] = with(t["toolkit"], {"toolkit", "console"});
    return t;
  }();
  return table;
}

struct Include {
  std::string from, to, place;
};

std::vector<Include> includes_of(const fs::path& src) {
  std::vector<Include> out;
  const std::regex line_form("^\\s*#\\s*include\\s+\"([^\"/]+)/.*");
  for (const auto& entry : fs::recursive_directory_iterator(src)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp") continue;
    const fs::path relative = fs::relative(entry.path(), src);
    std::ifstream in(entry.path());
    std::string line;
    std::smatch match;
    for (int n = 1; std::getline(in, line); ++n)
      if (std::regex_match(line, match, line_form))
        out.push_back(
            {relative.begin()->string(), match[1], relative.string() + ":" + std::to_string(n)});
  }
  return out;
}

bool is_folder_of_house(const std::string& name) { return allowed().contains(name); }

TEST(House, IncludesGoDownAndNeverAcrossTheWings) {
  const std::vector<Include> found = includes_of(fs::path(ASSAY_SOURCE_DIR) / "src");
  ASSERT_GT(found.size(), 200U) << "the walk found too little to mean anything";
  for (const Include& i : found) {
    if (!is_folder_of_house(i.to) || i.from == i.to) continue;
    const auto row = allowed().find(i.from);
    ASSERT_NE(row, allowed().end())
        << i.place << ": folder " << i.from << " has no place in the house";
    EXPECT_TRUE(row->second.contains(i.to))
        << i.place << ": " << i.from << " must not include " << i.to;
  }
}

TEST(House, TheTableHasNoCycle) {
  for (const auto& [from, row] : allowed())
    for (const std::string& to : row)
      EXPECT_FALSE(allowed().at(to).contains(from)) << from << " <-> " << to;
}

// The probe has rooms: what runs, how it is sampled, what curves tell, how it is shown. What a
// curve tells needs no device, so that observations are inferred from again without one.
TEST(House, TheRoomsOfTheProbeIncludeDownOnly) {
  const Table rooms = {{"kernels", {}},
                       {"inference", {"kernels"}},
                       {"sampling", {"kernels", "inference"}},
                       {"experiments", {"kernels", "inference", "sampling"}},
                       {"report", {"inference"}}};
  const std::set<std::string> everywhere = {"observation.h", "text.h"};
  const fs::path probe = fs::path(ASSAY_SOURCE_DIR) / "src/probe";
  const std::regex line_form("^\\s*#\\s*include\\s+\"(probe|runtime)/([^\"/]+)(/.*)?\".*");
  size_t found = 0;
  for (const auto& [room, row] : rooms) {
    for (const auto& entry : fs::directory_iterator(probe / room)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      std::ifstream in(entry.path());
      std::string line;
      std::smatch m;
      for (int n = 1; std::getline(in, line); ++n) {
        if (!std::regex_match(line, m, line_form)) continue;
        ++found;
        const std::string place = room + "/" + entry.path().filename().string() + ":" +
                                  std::to_string(n) + ": " + line,
                          to = m[2];
        if (m[1] == "runtime")
          EXPECT_TRUE((room != "inference" && room != "report") || to == "device.h") << place;
        else if (m[3].length() == 0)
          EXPECT_TRUE(everywhere.contains(to) ||
                      (to == "journal.h" && (room == "sampling" || room == "experiments")))
              << place;
        else
          EXPECT_TRUE(to == room || row.contains(to)) << place;
      }
    }
  }
  EXPECT_GT(found, 300U) << "the walk found too little to mean anything";
}

// Rule 1: nothing on the prediction side knows a vendor, chip or API by name.
TEST(House, ThePredictionSideNamesNoVendorChipOrApi) {
  const std::regex names(
      "\"[^\"]*\\b(nvidia|amd|intel|arm|mali|adreno|apple|cuda|opencl|vulkan|avx|neon|zen|xeon)\\b["
      "^\"]*\"",
      std::regex::icase);
  for (const char* folder : {"lower", "model", "simulator", "compiler"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "src" / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      std::ifstream in(entry.path());
      std::string line;
      for (int n = 1; std::getline(in, line); ++n)
        EXPECT_FALSE(std::regex_search(line, names))
            << entry.path().filename() << ":" << n << ": " << line;
    }
  }
}

// Rule 2: the prediction wing opens no file, reads no clock, starts no thread.
TEST(House, ThePredictionWingTouchesNoFileClockOrThread) {
  const std::regex forbidden(
      "#include "
      "<(fstream|filesystem|thread|chrono|mutex|cstdio|iostream|unistd\\.h|fcntl\\.h|time\\.h|"
      "ctime)>");
  for (const char* folder :
       {"ir", "hwdesc", "lower", "model", "simulator", "compiler", "codegen"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "src" / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      std::ifstream in(entry.path());
      std::string line;
      for (int n = 1; std::getline(in, line); ++n)
        EXPECT_FALSE(std::regex_search(line, forbidden))
            << entry.path().filename() << ":" << n << ": " << line;
    }
  }
}

TEST(House, EveryFolderHasAShortReadme) {
  for (const auto& [folder, row] : allowed()) {
    const fs::path readme = fs::path(ASSAY_SOURCE_DIR) / "src" /
                            (folder == "import" ? "import/onnx" : folder) / "README.md";
    ASSERT_TRUE(fs::exists(readme)) << readme;
    std::ifstream in(readme);
    std::string line;
    int n = 0;
    while (std::getline(in, line)) ++n;
    EXPECT_LE(n, 30) << readme;
  }
}

}  // namespace
