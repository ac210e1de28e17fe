#include "probe/sampling/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string_view>

namespace assay::probe {
namespace {

// First character of the child's last line when it failed.
constexpr std::string_view kFailed = "!";
constexpr int kFailedCode = 1;
constexpr int kLookMs = 50;        // between checks of the child
constexpr double kUnkillable = 5;  // s after which a killed child counts as lost in its driver

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void write_line(int fd, const std::string& line) {
  const std::string whole = line + "\n";
  for (size_t done = 0; done < whole.size();) {
    const ssize_t n = ::write(fd, whole.data() + done, whole.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(kFailedCode);  // the parent has ended
    done += static_cast<size_t>(n);
  }
}

[[noreturn]] void be_child(int fd, pid_t parent,
                           const std::function<std::string(const Send&)>& body) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailedCode);
  ::signal(SIGINT, SIG_IGN);  // the parent decides
  ::signal(SIGTERM, SIG_DFL);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    ::signal(fault, SIG_DFL);  // drivers install their own handlers
  std::string reason;
  try {
    reason = body([fd](const std::string& line) { write_line(fd, line); });
  } catch (const std::exception& e) {
    reason = e.what();
  }
  if (reason.empty()) ::_exit(0);
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  write_line(fd, std::string(kFailed) + reason);
  ::_exit(kFailedCode);
}

struct Child {
  pid_t pid = -1;
  int fd = -1;
  std::string pending;  // a partial line
  std::string failure;  // the child's error message
};

// false: the pipe is closed.
bool read_lines(Child& c, const std::function<void(const std::string&)>& on_line) {
  std::array<char, 65536> buffer;
  const ssize_t n = ::read(c.fd, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0) return false;
  c.pending.append(buffer.data(), static_cast<size_t>(n));
  for (size_t end; (end = c.pending.find('\n')) != std::string::npos; c.pending.erase(0, end + 1)) {
    const std::string line = c.pending.substr(0, end);
    if (line.starts_with(kFailed))
      c.failure = line.substr(kFailed.size());
    else
      on_line(line);
  }
  return true;
}

bool has_ended(const Child& c, int& status) {
  const pid_t ended = ::waitpid(c.pid, &status, WNOHANG);
  return ended == c.pid || (ended < 0 && errno == ECHILD);
}

void kill_group(const Child& c) {
  ::kill(-c.pid, SIGKILL);  // its children
  ::kill(c.pid, SIGKILL);
}

// Follows the child until it ends; done unless it has to be killed. Its end is polled, since its
// children may keep the pipe open.
Outcome follow(Child& c, const std::function<void(const std::string&)>& on_line,
               const WorkerOptions& options, int& status) {
  const double end = now_s() + options.limit_s;
  while (true) {
    const bool ended = has_ended(c, status);
    pollfd p{c.fd, POLLIN, 0};
    bool more = true;
    while (more && ::poll(&p, 1, ended ? 0 : kLookMs) > 0) {
      more = read_lines(c, on_line);
      if (!ended) break;
    }
    if (ended) return Outcome::done;
    const bool keep_running = !options.keep_running || options.keep_running();
    if (!keep_running || now_s() >= end || (options.until && now_s() >= options.until()))
      return keep_running ? Outcome::timed_out : Outcome::cancelled;
    if (!more) ::poll(nullptr, 0, 1);  // it is about to end
  }
}

// false: it can not be ended.
bool end_child(const Child& c, int& status) {
  kill_group(c);
  for (const double end = now_s() + kUnkillable; now_s() < end; ::poll(nullptr, 0, 1))
    if (has_ended(c, status)) return true;
  return false;
}

void conclude(Ending& e, const Child& c, int status) {
  if (e.outcome == Outcome::cancelled)
    e.reason = "cancelled";
  else if (e.outcome == Outcome::timed_out)
    e.reason = fmt::format("took longer than {:.0f} s", std::floor(e.seconds));
  else if (!c.failure.empty()) {
    e.outcome = Outcome::failed;
    e.reason = c.failure;
  } else if (WIFSIGNALED(status)) {
    e.outcome = Outcome::crashed;
    e.reason =
        fmt::format("ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0) {
    e.outcome = Outcome::crashed;
    e.reason = fmt::format("ended with status {}", WEXITSTATUS(status));
  }
}

}  // namespace

Ending run_worker(const std::string& experiment,
                  const std::function<std::string(const Send&)>& body,
                  const std::function<void(const std::string&)>& on_line,
                  const WorkerOptions& options) {
  Ending e{experiment, Outcome::failed, 0, ""};
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    e.reason = "no pipe";
    return e;
  }
  const double start = now_s();
  const pid_t parent = ::getpid();
  Child c;
  c.pid = ::fork();
  if (c.pid == 0) {
    ::close(fds[0]);
    be_child(fds[1], parent, body);
  }
  ::close(fds[1]);
  c.fd = fds[0];
  if (c.pid < 0) {
    ::close(c.fd);
    e.reason = "no process";
    return e;
  }
  int status = 0;
  e.outcome = follow(c, on_line, options, status);
  const bool lost = e.outcome != Outcome::done && !end_child(c, status);
  if (e.outcome == Outcome::done) ::kill(-c.pid, SIGKILL);  // children that still run
  ::close(c.fd);
  e.seconds = now_s() - start;
  conclude(e, c, status);
  if (lost) e.reason += ", and can not be ended: its driver holds it";
  return e;
}

}  // namespace assay::probe
