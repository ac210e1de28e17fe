#include "probe/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
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

constexpr std::array<const char*, 6> kOutcomes = {"done",      "failed",    "crashed",
                                                  "timed_out", "cancelled", "out_of_budget"};

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
    to.endings.push_back({j.at("experiment").get<std::string>(), *outcome,
                          j.at("seconds").get<double>(), j.at("reason").get<std::string>()});
  } else if (kind == "again") {
    to.drop(j.at("experiment").get<std::string>());
  } else {
    return {error(fmt::format("'{}' is no kind of journal line", kind))};
  }
  return {};
}

std::string text_of(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Removes a line that was being written when the process died.
bool drop_partial_line(int fd) {
  off_t end = ::lseek(fd, 0, SEEK_END);
  for (char c = 0; end > 0; --end)
    if (::pread(fd, &c, 1, end - 1) != 1 || c == '\n') break;
  return ::ftruncate(fd, end) == 0;
}

Diag at_file(const std::string& file, std::string message, std::string hint = "") {
  Diag d = error(std::move(message), std::move(hint));
  d.file = file;
  return d;
}

Diag unwritable(const std::string& file, int why) {
  const bool room = why == ENOSPC || why == EDQUOT || why == EFBIG;
  return at_file(file, fmt::format("the journal can not be written: {}", std::strerror(why)),
                 room ? "make room, then continue with --resume: its samples count" : "");
}

// A lock of this process: it ends with it, and children that outlive it do not hold it.
bool lock(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_SETLK, &whole) == 0 ||
         (errno != EACCES && errno != EAGAIN);  // file systems without locks
}

bool is_still_there(int fd, const std::string& file) {
  struct stat ours {
  }, there{};
  return ::fstat(fd, &ours) == 0 && ::stat(file.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

// 0, or why not.
int write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;  // EINVAL: nothing that can be synced
}

}  // namespace

std::string to_line(const Observation& o) {
  Json j = {{"kind", "sample"},         {"experiment", o.experiment},
            {"what", o.what},           {"at", o.at},
            {"unit", o.unit},           {"samples", o.samples},
            {"disturbed", o.disturbed}, {"foreign", o.foreign}};
  if (o.clock_hz) j["clock_hz"] = *o.clock_hz;
  return text_of(j);
}

std::string to_line(const std::string& fact, const std::string& text) {
  return text_of({{"kind", "fact"}, {"name", fact}, {"text", text}});
}

std::string to_line(const Ending& e) {
  return text_of({{"kind", "end"},
                  {"experiment", e.experiment},
                  {"seconds", e.seconds},
                  {"reason", e.reason},
                  {"outcome", kOutcomes[static_cast<size_t>(e.outcome)]}});
}

std::string again_line(const std::string& experiment) {
  return text_of({{"kind", "again"}, {"experiment", experiment}});
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
  if (!diags.empty()) {
    diags.back().hint = "remove these lines, or begin anew without --resume";
    return diags;
  }
  const std::string format = out.fact("journal");  // the first format had no such line
  if (format.empty() || format == kJournalFormat) return out;
  return at_file(file, fmt::format("this is '{}', expected {}", format, kJournalFormat),
                 "read it with the version of Assay that wrote it, or begin anew");
}

Journal::Journal(Journal&& o) noexcept : fd_(std::exchange(o.fd_, -1)), file_(std::move(o.file_)) {}

Journal& Journal::operator=(Journal&& o) noexcept {
  std::swap(fd_, o.fd_);
  std::swap(file_, o.file_);
  return *this;
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Journal> Journal::open(const std::string& directory, int flags) {
  std::error_code ignored;  // opening reports it
  std::filesystem::create_directories(directory, ignored);
  Journal j;
  j.file_ = directory + "/" + kJournalFile;
  j.fd_ = ::open(j.file_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | flags, 0644);
  if (j.fd_ < 0) return unwritable(j.file_, errno);
  if (!lock(j.fd_))
    return at_file(j.file_, "another probe is writing to this journal",
                   "wait for it, or give another directory");
  return j;
}

Result<Journal> Journal::begin(const std::string& directory) {
  auto journal = open(directory, O_CREAT);
  if (!journal || ::lseek(journal->fd_, 0, SEEK_END) == 0) return journal;
  const std::string file = journal->file_;
  if (::rename(file.c_str(), (directory + "/" + kEarlierJournal).c_str()) != 0)
    return unwritable(file, errno);
  return open(directory, O_CREAT);
}

Result<Journal> Journal::resume(const std::string& directory) {
  auto journal = open(directory, 0);
  if (journal && !drop_partial_line(journal->fd_)) return unwritable(journal->file_, errno);
  return journal;
}

Diags Journal::append(const std::string& line) {
  if (fd_ < 0) return {};
  const off_t before = ::lseek(fd_, 0, SEEK_END);
  if (const int why = write_whole(fd_, line + "\n"); why != 0) {
    // If this fails, the next probe to resume it removes the partial line.
    [[maybe_unused]] const int cut = ::ftruncate(fd_, before);
    return {unwritable(file_, why)};
  }
  if (is_still_there(fd_, file_)) return {};
  return {at_file(file_, "the journal was moved or removed while the probe wrote to it",
                  "give its new directory with --resume, or begin anew")};
}

bool has_journal(const std::string& directory) {
  struct stat there {};
  return !directory.empty() && ::stat((directory + "/" + kJournalFile).c_str(), &there) == 0 &&
         there.st_size > 0;
}

Result<Observations> read_journal(const std::string& directory) {
  const std::string file = directory + "/" + kJournalFile;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return error(fmt::format("there is no {}", file), "give the directory of an earlier probe");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return parse_journal(text, file);
}

}  // namespace assay::probe
