#include "cli/console/measure.h"

#include <filesystem>

#include "hwdesc/print.h"
#include "probe/journal.h"
#include "probe/report/report.h"
#include "support/files/files.h"

namespace assay::console {
namespace {

namespace fs = std::filesystem;

constexpr const char* kObservations = "observations";

bool same_place(const std::string& a, const std::string& b) {
  std::error_code absent;
  return fs::equivalent(a, b, absent);
}

// Its parent must exist, as for a bundle.
Diags make_directory(const std::string& path) {
  if (directory_exists(path)) return check_writable(path + "/x");
  std::error_code absent;
  if (fs::exists(path, absent)) {
    Diag d =
        error("exists, and is no directory",
              "a probe writes a directory; for the profile alone, give a name that ends in .yaml");
    d.file = path;
    return {d};
  }
  if (Diags wrong = check_writable(path); !wrong.empty()) return wrong;
  std::error_code code;
  fs::create_directory(path, code);
  if (!code) return {};
  Diag d = error("the directory can not be made: " + code.message());
  d.file = path;
  return {d};
}

// A directory of results also has the observations they were inferred from.
Diags keep_journal(const std::string& from, const std::string& to) {
  if (from.empty() || to.empty() || same_place(from, to)) return {};
  const Result<std::string> journal = read_text(from + "/" + probe::kJournalFile, kMaxDataBytes);
  if (!journal) return journal.diags();
  if (Diags wrong = make_directory(to); !wrong.empty()) return wrong;
  return write_text(to + "/" + probe::kJournalFile, *journal);
}

}  // namespace

Result<probe::ProbeResult> measure(const std::string& device, const probe::ProbeOptions& options) {
  return probe::probe(device, options);
}

Result<probe::ProbeResult> measure_again(const std::string& directory) {
  return probe::infer_from(observations_of(directory));
}

ProbePlaces places_of(const std::string& output) {
  const bool a_file = output.ends_with(".yaml") || output.ends_with(".yml");
  if (!directory_exists(output) && !output.ends_with('/') && a_file) return {"", output, "", ""};
  std::string directory = output;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  return {directory, directory + "/profile.yaml", directory + "/" + kObservations,
          directory + "/report.html"};
}

std::string observations_of(const std::string& directory) {
  const std::string inner = directory + "/" + kObservations;
  return file_exists(inner + "/" + probe::kJournalFile) ? inner : directory;
}

std::string results_of(const std::string& directory) {
  if (observations_of(directory) != directory) return directory;
  const fs::path inner = fs::path(directory + "/.").lexically_normal().parent_path();
  if (inner.filename() != kObservations) return "";
  return inner.has_parent_path() ? inner.parent_path().string() : ".";
}

Diags prepare_places(const ProbePlaces& places) {
  return places.directory.empty() ? check_writable(places.profile)
                                  : make_directory(places.directory);
}

Diags keep(const probe::ProbeResult& result, const ProbePlaces& places,
           const std::string& observations) {
  Diags out = write_text(places.profile, hwdesc::print_profile(result.profile));
  const auto add = [&](Diags more) { out.insert(out.end(), more.begin(), more.end()); };
  if (!places.report.empty())
    add(write_text(places.report, probe::report_html(result.observations, result.profile)));
  add(keep_journal(observations, places.observations));
  return out;
}

}  // namespace assay::console
