// The house: includes go down only and never across the two wings, and a folder's headers are its
// own but for those it lists. One table says so; this test walks every #include of the tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Words = std::set<std::string>;

struct Row {
  std::string folder;
  Words includes;  // folders whose public headers it may include
  Words headers;   // public: what other folders may include
};

Words operator+(Words a, const Words& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// A folder without a row fails, so a new one is given a place. Sub-folders have a row where they
// differ; the longest path that fits decides.
const std::vector<Row>& house() {
  static const std::vector<Row> rows = [] {
    const Words base = {"support", "ir", "hwdesc"};
    const Words devices = base + Words{"codegen", "runtime"};
    const Words prediction = base + Words{"lower", "model", "simulator", "compiler"};
    return std::vector<Row>{
        {"support",
         {},
         {"best_fit.h", "check.h", "diag.h", "edit_distance.h", "hash.h", "number.h", "quantity.h",
          "result.h", "utf8.h", "version.h", "yaml.h", "yaml_reader.h"}},
        {"support/files", {"support"}, {"files.h"}},
        {"support/page", {"support"}, {"chart.h", "page.h", "text.h"}},
        {"support/process", {"support"}, {"process.h"}},
        {"hwdesc",
         {"support"},
         {"any_value.h", "check.h", "diff.h", "library.h", "merge.h", "override.h", "parse.h",
          "print.h", "profile.h", "reference.h", "schema.h", "show.h", "target.h", "value.h",
          "walk.h", "words.h"}},
        {"ir", {"support"}, {"apply_kind.h",   "computed_type.h", "dtype.h",   "element.h",
                             "graph.h",        "kernel.h",        "label.h",   "layout.h",
                             "limits.h",       "matrix.h",        "plan.h",    "positions.h",
                             "phases.h",       "producers.h",     "program.h", "schedule.h",
                             "task_mapping.h", "text_matrix.h",   "threads.h", "touched.h",
                             "windows.h"}},
        {"lower",
         base,
         {"count.h", "early_loads.h", "fragment_runs.h", "group_scratch.h", "instruction.h",
          "legal.h", "lower.h", "mapped_copy.h", "nest.h", "threads.h"}},
        // The prediction wing.
        {"model",
         base + Words{"lower"},
         {"alignment.h",   "analyse.h",   "analyse_mapped.h", "bandwidth.h",   "closed_form.h",
          "conversions.h", "constants.h", "issue_slots.h",    "copies.h",      "launch_tree.h",
          "part.h",        "estimate.h",  "interval.h",       "launch_work.h", "machine.h",
          "operands.h",    "overlap.h",   "price.h",          "retention.h",   "slp.h",
          "streams.h",     "tlb.h",       "traffic.h"}},
        {"simulator",
         base + Words{"lower", "model"},
         {"beside.h", "estimate.h", "range.h", "read_from.h", "step_spans.h", "step_widths.h",
          "unit_range.h"}},
        {"compiler",
         base + Words{"lower", "model", "simulator"},
         {"compile.h", "library/catalogue.h", "library/factors.h", "library/launches.h",
          "library/library.h", "passes/place.h", "schedule/draw.h", "schedule/schedule.h",
          "search/legal_space.h", "search/tile_graphs.h"}},
        {"compiler/import", {"support", "ir"}, {"import_onnx.h"}},
        // The device wing.
        {"codegen",
         base,
         {"computed_types.h", "dialect.h", "isa.h", "one_lane.h", "render.h", "scalar_op.h"}},
        {"runtime",
         base + Words{"codegen", "support/process"},
         {"device.h", "memory.h", "source.h"}},
        {"probe",
         devices + Words{"support/page"},
         {"as_probed.h", "host_state.h", "journal.h", "probe.h", "report/report.h"}},
        // Both wings.
        {"toolkit",
         prediction + devices +
             Words{"probe", "compiler/import", "support/files", "support/page", "support/process"},
         {"accuracy.h",
          "accuracy_page.h",
          "calibrate.h",
          "chains.h",
          "compile.h",
          "devices.h",
          "estimate_json.h",
          "estimate_operators.h",
          "factors.h",
          "input_ranges.h",
          "model_type.h",
          "passed_tiles.h",
          "profile_rates.h",
          "profiles.h",
          "program_residuals.h",
          "reference.h",
          "report.h",
          "run.h",
          "simulate.h",
          "summary.h",
          "trace.h",
          "transfer_sums.h",
          "validate.h",
          "validate_fusion.h",
          "validate_schedules.h",
          "validate_plot.h",
          "validate_score.h",
          "verify_programs.h",
          "whatif.h"}},
        {"cli", base + Words{"support/files", "runtime", "probe", "toolkit", "cli/console"}, {}},
        {"cli/console",
         devices + Words{"probe", "support/files"},
         {"command.h", "entry.h", "options.h", "report.h", "table.h"}},
        {"cli/probe", {"support", "cli/console"}, {}},
    };
  }();
  return rows;
}

// The row of a path such as `compiler/import/context.h`; null: it is outside the house.
const Row* row_of(const std::string& path) {
  const Row* best = nullptr;
  for (const Row& r : house())
    if (path.starts_with(r.folder + "/") &&
        (best == nullptr || r.folder.size() > best->folder.size()))
      best = &r;
  return best;
}

std::vector<std::string> top_folders() {
  std::vector<std::string> out;
  for (const Row& r : house())
    if (r.folder.find('/') == std::string::npos) out.push_back(r.folder);
  return out;
}

struct Line {
  std::string file;  // relative to the root
  int number = 0;
  std::string text;
  std::string place() const { return file + ":" + std::to_string(number) + ": " + text; }
};

std::vector<Line> lines_of(const std::string& folder) {
  const fs::path root = ASSAY_SOURCE_DIR;
  std::vector<Line> out;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp") continue;
    std::ifstream in(entry.path());
    std::string line;
    for (int n = 1; std::getline(in, line); ++n)
      out.push_back({fs::relative(entry.path(), root).string(), n, line});
  }
  return out;
}

struct Include {
  Line line;
  std::string header;
};

std::vector<Include> includes_of(const std::string& folder) {
  const std::regex form("^\\s*#\\s*include\\s+\"([^\"]+)\".*");
  std::vector<Include> out;
  std::smatch match;
  for (const Line& line : lines_of(folder))
    if (std::regex_match(line.text, match, form)) out.push_back({line, match[1]});
  return out;
}

TEST(House, IncludesGoDownAndNeverAcrossTheWings) {
  size_t found = 0;
  for (const std::string& folder : top_folders())
    for (const Include& i : includes_of(folder)) {
      const Row* from = row_of(i.line.file);
      const Row* to = row_of(i.header);
      if (to == nullptr || from == to) continue;
      ++found;
      EXPECT_TRUE(from->includes.contains(to->folder)) << i.line.place();
    }
  EXPECT_GT(found, 500U) << "the walk found too little to mean anything";
}

TEST(House, OtherFoldersIncludeOnlyListedHeaders) {
  Words used;
  for (const std::string& folder : top_folders())
    for (const Include& i : includes_of(folder)) {
      const Row* from = row_of(i.line.file);
      const Row* to = row_of(i.header);
      if (to == nullptr || from == to) continue;
      used.insert(i.header);
      EXPECT_TRUE(to->headers.contains(i.header.substr(to->folder.size() + 1)))
          << i.line.place() << "\n  is not a public header of " << to->folder;
    }
  for (const Row& r : house())
    for (const std::string& header : r.headers)
      EXPECT_TRUE(used.contains(r.folder + "/" + header))
          << r.folder << "/" << header << " is listed, and no other folder includes it";
}

TEST(House, TheTableHasNoCycle) {
  std::map<std::string, Words> includes;
  for (const Row& r : house()) includes[r.folder] = r.includes;
  for (const Row& r : house())
    for (const std::string& to : r.includes) {
      ASSERT_TRUE(includes.contains(to))
          << r.folder << " may include " << to << ", which is no row";
      EXPECT_FALSE(includes.at(to).contains(r.folder)) << r.folder << " <-> " << to;
    }
}

TEST(House, EveryFolderOfCodeHasARow) {
  const Words elsewhere = {"bench", "tests", "build"};
  for (const auto& entry : fs::directory_iterator(ASSAY_SOURCE_DIR)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with(".") || name.starts_with("build") ||
        elsewhere.contains(name))
      continue;
    if (!lines_of(name).empty()) {
      EXPECT_NE(row_of(name + "/x.h"), nullptr) << name;
    }
  }
}

// The probe's own folders: kernels, how they are sampled, what curves tell, how it is shown.
// Inference needs no device, so that observations can be inferred from again without one.
TEST(House, TheFoldersOfTheProbeIncludeDownOnly) {
  const std::map<std::string, Words> folders = {
      {"kernels", {}},
      {"inference", {"kernels"}},
      {"sampling", {"kernels", "inference"}},
      {"experiments", {"kernels", "inference", "sampling"}},
      {"report", {"inference"}}};
  const Words everywhere = {"observation.h"};
  const std::regex form("(probe|runtime)/([^/]+)(/.*)?");
  size_t found = 0;
  std::smatch m;
  for (const auto& [folder, row] : folders)
    for (const Include& i : includes_of("probe/" + folder)) {
      if (!std::regex_match(i.header, m, form)) continue;
      ++found;
      const std::string to = m[2];
      const bool device = folder != "inference" && folder != "report";
      const bool journal = to == "journal.h" && (folder == "sampling" || folder == "experiments");
      if (m[1] == "runtime")
        EXPECT_TRUE(device || to == "device.h") << i.line.place();
      else if (m[3].length() == 0)
        EXPECT_TRUE(everywhere.contains(to) || journal) << i.line.place();
      else
        EXPECT_TRUE(to == folder || row.contains(to)) << i.line.place();
    }
  EXPECT_GT(found, 300U) << "the walk found too little to mean anything";
}

TEST(House, ThePredictionSideNamesNoVendorChipOrApi) {
  const std::regex names(
      "\"[^\"]*\\b(nvidia|amd|intel|arm|mali|adreno|apple|cuda|opencl|vulkan|avx|neon|zen|xeon)"
      "\\b[^\"]*\"",
      std::regex::icase);
  for (const char* folder : {"lower", "model", "simulator", "compiler"})
    for (const Line& line : lines_of(folder))
      EXPECT_FALSE(std::regex_search(line.text, names)) << line.place();
}

TEST(House, ThePredictionWingTouchesNoFileClockOrThread) {
  const std::regex forbidden(
      "#include <(fstream|filesystem|thread|chrono|mutex|cstdio|iostream|unistd\\.h|fcntl\\.h|"
      "time\\.h|ctime)>");
  for (const char* folder : {"ir", "hwdesc", "lower", "model", "simulator", "compiler", "codegen"})
    for (const Line& line : lines_of(folder))
      EXPECT_FALSE(std::regex_search(line.text, forbidden)) << line.place();
}

TEST(House, EveryFolderHasAShortReadme) {
  for (const Row& r : house()) {
    const fs::path readme = fs::path(ASSAY_SOURCE_DIR) / r.folder / "README.md";
    ASSERT_TRUE(fs::exists(readme)) << readme;
    std::ifstream in(readme);
    std::string line;
    int n = 0;
    while (std::getline(in, line)) ++n;
    EXPECT_LE(n, 30) << readme;
  }
}

TEST(House, TestsMirrorTheFolders) {
  for (const std::string& folder : top_folders())
    EXPECT_TRUE(fs::exists(fs::path(ASSAY_SOURCE_DIR) / "tests" / folder)) << folder;
}

}  // namespace
