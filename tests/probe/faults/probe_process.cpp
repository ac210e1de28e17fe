#include "tests/probe/faults/probe_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace assay::probe::testing {
namespace {

// Everything but what takes long to simulate.
constexpr const char* kExperiments[] = {"checks", "clock", "line",      "chase",      "knees",
                                        "fma",    "units", "latency",   "operations", "sharing",
                                        "access", "mixes", "bandwidth", "sustained",  "launch"};

std::vector<std::string> words(const Bed& bed, bool resume, const char* patience) {
  std::vector<std::string> out = {"--device", bed.device(), "-o",         bed.out() + "/",
                                  "--budget", "1s",         "--patience", patience};
  if (resume) out.emplace_back("--resume");
  for (const char* e : kExperiments) out.insert(out.end(), {"--only", e});
  return out;
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const std::string& err) {
  ::setpgid(0, 0);
  ::dup2(::open("/dev/null", O_RDWR), STDIN_FILENO);
  ::dup2(::open("/dev/null", O_RDWR), STDOUT_FILENO);
  ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>(ASSAY_PROBE_BINARY)};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

std::string text_of_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void Bed::set_fault(const std::string& fault) const {
  const auto replaced = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(std::string(ASSAY_SOURCE_DIR) + "/tests/probe/faults/chip.yaml",
                             directory_.at("small.yaml"), replaced);
  std::ofstream(directory_.at("chip.yaml"))
      << "schema: assay/virtual/1\nprofile: small.yaml\nnoise: 0.02\n"
      << (fault.empty() ? "" : "fault: {" + fault + "}\n");
}

std::string Bed::journal() const { return text_of_file(out() + "/observations/journal.jsonl"); }
std::string Bed::profile() const { return text_of_file(out() + "/profile.yaml"); }

Probing::Probing(const Bed& bed, bool resume, const char* patience) : err_(bed.out() + ".err") {
  const std::vector<std::string> arguments = words(bed, resume, patience);
  pid_ = ::fork();
  if (pid_ == 0) become(arguments, err_);
  ::setpgid(pid_, pid_);
}

Probing::~Probing() {
  if (!runs()) return;
  kill(SIGKILL);
  wait();
}

void Probing::kill(int signal) const { ::kill(pid_, signal); }
void Probing::interrupt() const { ::kill(-pid_, SIGINT); }

bool Probing::kill_worker() const {
  std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) +
                         "/children");
  pid_t worker = 0;
  return children >> worker && worker > 0 && ::kill(worker, SIGKILL) == 0;
}

bool Probing::runs() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return !status_;
}

int Probing::wait() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, 0) == pid_) status_ = status;
  return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : 128 + WTERMSIG(*status_);
}

std::string Probing::said() const { return text_of_file(err_); }

}  // namespace assay::probe::testing
