#include "support/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <sstream>

extern char** environ;

namespace assay::process {
namespace {

struct Running {
  pid_t pid;
  size_t command;
};

struct Streams {
  int in = -1;  // -1: nothing to read
  int out = -1, messages = -1;
};

// Starts a command in its own process group; -1 when it can not be started.
pid_t start(const std::vector<std::string>& argv, const Streams& streams) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (streams.in < 0)
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  else
    posix_spawn_file_actions_adddup2(&files, streams.in, 0);
  posix_spawn_file_actions_adddup2(&files, streams.out, 1);
  posix_spawn_file_actions_adddup2(&files, streams.messages, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  pid_t pid = -1;
  if (posix_spawn(&pid, args[0], &files, &attributes, args.data(), environ) != 0) pid = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return pid;
}

pid_t start(const Command& c) {
  const int fd = ::open(c.log.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  const pid_t pid = start(c.argv, {-1, fd, fd});
  ::close(fd);
  return pid;
}

Outcome outcome_of(int status) {
  if (WIFEXITED(status)) return {Ending::exited, WEXITSTATUS(status)};
  return {Ending::signalled, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

void pause_ms(long ms) {
  const timespec t{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&t, nullptr);
}

bool is_set(const std::atomic<bool>* cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

struct Runner {
  const std::vector<Command>& commands;
  const std::function<void(size_t, const Outcome&)>& done;
  std::vector<Outcome> outcomes{};
  std::vector<Running> running{};

  void finish(size_t command, Outcome o) {
    outcomes[command] = o;
    if (done) done(command, o);
  }
  void begin(size_t command) {
    const pid_t pid = start(commands[command]);
    if (pid < 0)
      finish(command, {Ending::not_started, 0});
    else
      running.push_back({pid, command});
  }
  bool collect() {  // true: at least one ended
    bool any = false;
    for (size_t i = 0; i < running.size();) {
      int status = 0;
      if (waitpid(running[i].pid, &status, WNOHANG) == 0) {
        ++i;
        continue;
      }
      const size_t command = running[i].command;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      finish(command, outcome_of(status));
      any = true;
    }
    return any;
  }
  void kill_all() {
    for (const Running& r : running) {
      kill(-r.pid, SIGKILL);
      kill(r.pid, SIGKILL);
      waitpid(r.pid, nullptr, 0);
      finish(r.command, {Ending::cancelled, 0});
    }
    running.clear();
  }
};

}  // namespace

std::vector<Outcome> run_all(const std::vector<Command>& commands, int parallel,
                             const std::atomic<bool>* cancel,
                             const std::function<void(size_t, const Outcome&)>& done) {
  Runner r{commands, done};
  r.outcomes.resize(commands.size());
  size_t next = 0;
  while (next < commands.size() || !r.running.empty()) {
    if (is_set(cancel)) {
      r.kill_all();
      for (; next < commands.size(); ++next) r.finish(next, {Ending::cancelled, 0});
      break;
    }
    if (next < commands.size() && static_cast<int>(r.running.size()) < parallel)
      r.begin(next++);
    else if (!r.collect())
      pause_ms(1);
  }
  return std::move(r.outcomes);
}

namespace {

// An unnamed file, gone when it is closed: no pipe that two processes could wait for.
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File unnamed_file() {
  File file(std::tmpfile(), std::fclose);
  if (file) fcntl(fileno(file.get()), F_SETFD, FD_CLOEXEC);
  return file;
}

std::string text_of(std::FILE* file) {
  std::string text;
  char buffer[65536];
  std::rewind(file);
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  return text;
}

Outcome wait_for(pid_t pid, const std::atomic<bool>* cancel) {
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (is_set(cancel)) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      return {Ending::cancelled, 0};
    }
    pause_ms(1);
  }
  return outcome_of(status);
}

}  // namespace

Filtered filter(const std::vector<std::string>& argv, const std::string& input,
                const std::atomic<bool>* cancel) {
  const File in = unnamed_file(), out = unnamed_file(), messages = unnamed_file();
  if (!in || !out || !messages) return {};
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() ||
      std::fflush(in.get()) != 0)
    return {};
  lseek(fileno(in.get()), 0, SEEK_SET);
  const pid_t pid = start(argv, {fileno(in.get()), fileno(out.get()), fileno(messages.get())});
  if (pid < 0) return {};
  Filtered done;
  done.outcome = wait_for(pid, cancel);
  done.output = text_of(out.get());
  done.messages = text_of(messages.get());
  return done;
}

std::string first_line_of(const std::vector<std::string>& argv) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const pid_t pid = start(argv, {-1, ends[1], ends[1]});
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; pid > 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 1;
  if (pid > 0) waitpid(pid, &status, 0);
  return pid > 0 && outcome_of(status).good() ? text.substr(0, text.find('\n')) : "";
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string full = (folder.empty() ? "." : folder) + "/" + name;
    if (access(full.c_str(), X_OK) == 0) return full;
  }
  return "";
}

}  // namespace assay::process
