#include "tests/cli/assay_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

std::string read_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

[[noreturn]] void become(const char* program, const std::vector<std::string>& arguments,
                         const Environment& environment, const std::string& out,
                         const std::string& err) {
  for (const auto& [key, value] : environment) setenv(key.c_str(), value.c_str(), 1);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0666), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0666), STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>(program)};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execv(program, argv.data());
  _exit(127);
}

Outcome run(const char* program, const std::vector<std::string>& arguments,
            const Environment& environment, int signal, double seconds) {
  const ScratchDirectory scratch;
  const pid_t child = fork();
  if (child == 0) become(program, arguments, environment, scratch.at("out"), scratch.at("err"));
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

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const Environment& environment) {
  return run(program.c_str(), arguments, environment, 0, 0);
}

#if defined(ASSAY_BINARY)
Outcome run_assay(const std::vector<std::string>& arguments, const Environment& environment) {
  return run(ASSAY_BINARY, arguments, environment, 0, 0);
}

Outcome run_assay_probe(const std::vector<std::string>& arguments, const Environment& environment) {
  return run(ASSAY_PROBE_BINARY, arguments, environment, 0, 0);
}

Outcome run_assay_and_signal(const std::vector<std::string>& arguments, int signal,
                             double seconds) {
  return run(ASSAY_BINARY, arguments, {}, signal, seconds);
}
#endif

}  // namespace assay::test
