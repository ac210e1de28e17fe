#include "assay_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "scratch_directory.h"

namespace assay::test {
namespace {

std::string read_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

[[noreturn]] void become_assay(const std::vector<std::string>& arguments,
                               const Environment& environment, const std::string& out,
                               const std::string& err) {
  for (const auto& [key, value] : environment) setenv(key.c_str(), value.c_str(), 1);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0666), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0666), STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>("assay")};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execv(ASSAY_BINARY, argv.data());
  _exit(127);
}

Outcome run(const std::vector<std::string>& arguments, const Environment& environment, int signal,
            double seconds) {
  const ScratchDirectory scratch;
  const pid_t child = fork();
  if (child == 0) become_assay(arguments, environment, scratch.at("out"), scratch.at("err"));
  if (signal != 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    kill(child, signal);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_file(scratch.at("out")), read_file(scratch.at("err"))};
}

}  // namespace

Outcome run_assay(const std::vector<std::string>& arguments, const Environment& environment) {
  return run(arguments, environment, 0, 0);
}

Outcome run_assay_and_signal(const std::vector<std::string>& arguments, int signal,
                             double seconds) {
  return run(arguments, {}, signal, seconds);
}

}  // namespace assay::test
