#include "probe/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace assay::probe {
namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 5> kOutcomes = {"done", "failed", "crashed", "timed_out", "cancelled"};

Result<Outcome> outcome_of(const std::string& name) {
  for (size_t i = 0; i < kOutcomes.size(); ++i)
    if (name == kOutcomes[i]) return static_cast<Outcome>(i);
  return error(fmt::format("'{}' is no outcome", name));
}

Observation sample_from(const Json& j) {
  Observation o;
  o.experiment = j.at("experiment").get<std::string>();
  o.what = j.at("what").get<std::string>();
  o.at = j.at("at").get<Conditions>();
  o.unit = j.at("unit").get<std::string>();
  o.samples = j.at("samples").get<std::vector<double>>();
  o.disturbed = j.at("disturbed").get<std::vector<double>>();
  o.foreign = j.at("foreign").get<double>();
  if (j.contains("clock_hz")) o.clock_hz = j.at("clock_hz").get<double>();
  return o;
}

Diags add(const Json& j, Observations& to) {
  const auto kind = j.at("kind").get<std::string>();
  if (kind == "sample") {
    to.points.push_back(sample_from(j));
  } else if (kind == "fact") {
    to.facts.emplace_back(j.at("name").get<std::string>(), j.at("text").get<std::string>());
  } else if (kind == "end") {
    const auto outcome = outcome_of(j.at("outcome").get<std::string>());
    if (!outcome) return outcome.diags();
    to.endings.push_back({j.at("experiment").get<std::string>(), *outcome, j.at("seconds").get<double>(),
                          j.at("reason").get<std::string>()});
  } else {
    return {error(fmt::format("'{}' is no kind of journal line", kind))};
  }
  return {};
}

std::string text_of(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Cuts a line that was being written when the process died.
void drop_partial_line(int fd) {
  off_t end = ::lseek(fd, 0, SEEK_END);
  for (char c = 0; end > 0; --end)
    if (::pread(fd, &c, 1, end - 1) != 1 || c == '\n') break;
  if (::ftruncate(fd, end) != 0) return;  // appending after it is still readable up to that line
}

}  // namespace

std::string to_line(const Observation& o) {
  Json j = {{"kind", "sample"}, {"experiment", o.experiment}, {"what", o.what}, {"at", o.at},
            {"unit", o.unit}, {"samples", o.samples}, {"disturbed", o.disturbed}, {"foreign", o.foreign}};
  if (o.clock_hz) j["clock_hz"] = *o.clock_hz;
  return text_of(j);
}

std::string to_line(const std::string& fact, const std::string& text) {
  return text_of({{"kind", "fact"}, {"name", fact}, {"text", text}});
}

std::string to_line(const Ending& e) {
  return text_of({{"kind", "end"}, {"experiment", e.experiment}, {"seconds", e.seconds}, {"reason", e.reason},
                  {"outcome", kOutcomes[static_cast<size_t>(e.outcome)]}});
}

Diags add_line(std::string_view line, Observations& to) {
  try {
    return add(Json::parse(line), to);
  } catch (const Json::exception& e) {
    return {error(e.what())};
  }
}

Result<Observations> parse_journal(std::string_view text, const std::string& file) {
  Observations out;
  Diags diags;
  int number = 0;
  while (true) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    ++number;
    for (Diag d : add_line(text.substr(0, end), out)) {
      d.file = file;
      d.line = number;
      diags.push_back(std::move(d));
    }
    text.remove_prefix(end + 1);
  }
  if (!diags.empty()) return diags;
  return out;
}

Journal::Journal(Journal&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Journal> Journal::open(const std::string& directory, bool fresh) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  const std::string file = directory + "/" + kJournalFile;
  Journal j;
  j.fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0644);
  if (j.fd_ < 0) return error(fmt::format("{} can not be written: {}", file, std::strerror(errno)));
  if (!fresh) drop_partial_line(j.fd_);
  return j;
}

void Journal::append(const std::string& line) {
  if (fd_ < 0) return;
  const std::string whole = line + "\n";
  for (size_t done = 0; done < whole.size();) {
    const ssize_t n = ::write(fd_, whole.data() + done, whole.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // disk full: the probe goes on, the line is lost
    done += static_cast<size_t>(n);
  }
  ::fsync(fd_);
}

Result<Observations> read_journal(const std::string& directory) {
  const std::string file = directory + "/" + kJournalFile;
  std::ifstream in(file, std::ios::binary);
  if (!in) return error(fmt::format("there is no {}", file), "give the directory of an earlier probe");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return parse_journal(text, file);
}

}  // namespace assay::probe
