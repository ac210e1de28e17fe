// The journal: one JSON object per line, appended and fsync'd as soon as something is known, so that
// a crash, a kill or Ctrl-C loses at most the line being written. Reading tolerates a truncated last
// line. The only file of the probe that opens files.
//   {"kind":"sample","experiment":"chase","what":"chase","at":{"bytes":4096},"unit":"s","samples":[...],...}
//   {"kind":"fact","name":"cpu","text":"..."}
//   {"kind":"end","experiment":"chase","outcome":"done","seconds":3.1,"reason":""}
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr const char* kJournalFile = "journal.jsonl";

std::string to_line(const Observation& o);
std::string to_line(const std::string& fact, const std::string& text);
std::string to_line(const Ending& e);

// Adds what one line says. Errors: not a JSON object of a kind we write.
Diags add_line(std::string_view line, Observations& to);

// Every whole line of a journal. A last line without its line end is dropped; a wrong line is an
// error with its number.
Result<Observations> parse_journal(std::string_view text, const std::string& file);

class Journal {  // invariant: an open file to append to, or none (then nothing is kept)
 public:
  Journal() = default;
  Journal(Journal&& o) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  // Opens <directory>/journal.jsonl; makes the directory. `fresh`: an older journal there is
  // emptied; else a truncated last line is cut off. Errors: can not be made or opened.
  static Result<Journal> open(const std::string& directory, bool fresh);

  void append(const std::string& line);

 private:
  int fd_ = -1;
};

// Errors: no journal there.
Result<Observations> read_journal(const std::string& directory);

}  // namespace assay::probe
