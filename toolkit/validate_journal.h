// The journal of a validation: one JSON object per line, flushed at once. An interruption loses the
// operators that were not done, and no others.
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

// What identifies a run: a journal is resumed only if every member agrees.
struct RunIdentity {
  std::string profile, suite;  // hashes
  std::string device, api, version;
  int programs = 0, repeat = 0;
  uint64_t seed = 0;
  bool operator==(const RunIdentity&) const = default;
};

// Operators with a `done` line, in order. An incomplete last line is dropped. Errors: unreadable,
// not a journal (with the line), of another run (with the member that differs).
Result<std::vector<OperatorRows>> read_validation(const std::string& path, const RunIdentity& run);

// The same for any run, with its identity.
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

  // Replaces `path` by `kept`. `path` empty: keeps nothing. Errors: not writable.
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
