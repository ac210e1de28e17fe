// The journal: one JSON object per line, appended and fsync'd at once, so that a crash, a kill or
// Ctrl-C loses at most the line being written. A truncated last line is dropped. The only file of
// the probe that opens files.
//   {"kind":"fact","name":"journal","text":"assay/journal/2"}      the first line
//   {"kind":"sample","experiment":"chase","what":"chase","at":{"bytes":4096},"unit":"s",
//    "samples":[...],...}
//   {"kind":"fact","name":"cpu","text":"..."}
//   {"kind":"end","experiment":"chase","outcome":"done","seconds":3.1,"reason":""}
//   {"kind":"again","experiment":"latency"}      drops all earlier lines of the experiment
#pragma once

#include <string>
#include <string_view>

#include "probe/observation.h"
#include "support/result.h"

namespace assay::probe {

inline constexpr const char* kJournalFile = "journal.jsonl";
// An earlier journal, where a probe began anew.
inline constexpr const char* kEarlierJournal = "journal.jsonl.before";
inline constexpr const char* kJournalFormat = "assay/journal/2";

std::string to_line(const Observation& o);
std::string to_line(const std::string& fact, const std::string& text);
std::string to_line(const Ending& e);
std::string again_line(const std::string& experiment);

// Adds what one line says. Errors: not a JSON object of a known kind.
Diags add_line(std::string_view line, Observations& to);

// Every whole line of a journal. A last line without a line end is dropped; a wrong line is an
// error with its number.
Result<Observations> parse_journal(std::string_view text, const std::string& file);

class Journal {  // invariant: a file that only we write, of whole lines; or none (nothing is kept)
 public:
  Journal() = default;
  Journal(Journal&& o) noexcept;
  Journal& operator=(Journal&& o) noexcept;
  ~Journal();

  // A new journal in `directory`, which is created; an earlier one is kept under another name.
  // Errors: can not be created or opened; another probe is writing to the earlier one.
  static Result<Journal> begin(const std::string& directory);
  // The journal there, after its last whole line. Errors: can not be opened; another probe is
  // writing to it.
  static Result<Journal> resume(const std::string& directory);

  // Empty: the line is on disk. Errors: no room; the file was moved. A partial line is removed.
  Diags append(const std::string& line);
  bool is_open() const { return fd_ >= 0; }

 private:
  static Result<Journal> open(const std::string& directory, int flags);

  int fd_ = -1;
  std::string file_;
};

bool has_journal(const std::string& directory);

// Errors: no journal there; one of another format; a wrong line.
Result<Observations> read_journal(const std::string& directory);

}  // namespace assay::probe
