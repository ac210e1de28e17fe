// `assay-probe` as a process that can be killed, on a simulated chip with switchable faults.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/toolkit/scratch_directory.h"

namespace assay::probe::testing {

// A chip in a directory of its own, and its journal.
class Bed {
 public:
  explicit Bed(const std::string& fault) { set_fault(fault); }
  void set_fault(const std::string& fault) const;  // "": none
  std::string device() const { return "virtual:" + directory_.at("chip.yaml"); }
  std::string out() const { return directory_.at("out"); }
  std::string journal() const;  // its bytes; "" when there is none
  std::string profile() const;

 private:
  test::ScratchDirectory directory_;
};

class Probing {  // invariant: a process group of its own, ended when this ends
 public:
  Probing(const Bed& bed, bool resume, const char* patience = "90s");
  Probing(const Probing&) = delete;
  Probing& operator=(const Probing&) = delete;
  ~Probing();

  void kill(int signal) const;  // the program alone
  void interrupt() const;       // as a terminal does: the whole group
  bool kill_worker() const;     // false: there was none
  bool runs();                  // still
  int wait();                   // exit code; 128 + signal
  std::string said() const;     // to stderr

 private:
  std::string err_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

std::string text_of_file(const std::string& path);

}  // namespace assay::probe::testing
