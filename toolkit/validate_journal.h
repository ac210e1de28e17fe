// The journal of a validation: one JSON object per line, written through at once, so that an
// interruption costs the operator it fell into and no other.
//   {"kind":"run","schema":"assay/validation/1","profile":...,"suite":...,"seed":...,...}
//   {"kind":"predicted","operator":...,"id":...,"seconds":...,"low":...,"high":...,...}   before
//   {"kind":"measured","operator":...,"id":...,"seconds":...,...}                          after
//   {"kind":"done","operator":...,"spent":{...}}
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "toolkit/validate.h"

namespace assay::toolkit {

// What makes two runs one: every member has to agree before rows are taken over.
struct RunIdentity {
  std::string profile, suite;  // hashes
  std::string device, api, version;
  int programs = 0, repeat = 0;
  uint64_t seed = 0;
  bool operator==(const RunIdentity&) const = default;
};

// Operators with a `done` line, in order. A last line that was cut off is dropped. Errors:
// unreadable, not a journal (with the line), of another run (says in what).
Result<std::vector<OperatorRows>> read_validation(const std::string& path, const RunIdentity& run);

// The same of any run, and which one it was.
struct KeptValidation {
  RunIdentity run;
  std::vector<OperatorRows> operators;
};
Result<KeptValidation> read_kept_validation(const std::string& path);

class ValidationJournal {  // invariant: an open file to append to, or none (then nothing is kept)
 public:
  ValidationJournal() = default;
  ValidationJournal(ValidationJournal&& other) noexcept;
  ValidationJournal& operator=(ValidationJournal&&) = delete;
  ~ValidationJournal();

  // Writes `path` anew, `kept` in it. `path` empty: keeps nothing. Errors: not writable.
  static Result<ValidationJournal> start(const std::string& path, const RunIdentity& run,
                                         const std::vector<OperatorRows>& kept);

  void predicted(const std::string& op, const ProgramRow& row);
  void measured(const std::string& op, const ProgramRow& row);
  void done(const OperatorRows& rows);

 private:
  void append(const std::string& line);

  std::FILE* file_ = nullptr;
};

}  // namespace assay::toolkit
