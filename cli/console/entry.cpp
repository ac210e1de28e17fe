#include "cli/console/entry.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

namespace assay::console {
namespace {

std::atomic<bool> cancel_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The first Ctrl-C cancels, the second ends the program.
void on_interrupt(int) {
  if (cancel_requested.exchange(true)) _exit(static_cast<int>(ExitCode::interrupted));
}

// A failed CHECK has printed its place and aborts.
void on_abort(int) { _exit(static_cast<int>(ExitCode::internal)); }

void install_handlers() {
  struct sigaction interrupt {};
  interrupt.sa_handler = on_interrupt;
  sigaction(SIGINT, &interrupt, nullptr);
  sigaction(SIGTERM, &interrupt, nullptr);
  struct sigaction abort {};
  abort.sa_handler = on_abort;
  sigaction(SIGABRT, &abort, nullptr);
  signal(SIGXFSZ, SIG_IGN);  // then a file over its size limit is an error of the write
}

ExitCode guarded(const char* program, const std::vector<std::string>& words, RunWords run,
                 const Context& context) {
  try {
    return run(words, context);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", program);
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) != 0) {  // of a write: reported at the end
      errno = e.code().value();
      return ExitCode::ok;
    }
    std::fprintf(stderr, "%s: internal error: %s\n", program, e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: internal error: %s\n", program, e.what());
  }
  return ExitCode::internal;
}

// A result that could not be written is an error. fmt throws on a full disk; ferror remembers it.
ExitCode with_results_out(const char* program, ExitCode code) {
  const bool out = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (out || code != ExitCode::ok) return code;
  std::fprintf(stderr, "%s: standard output can not be written%s%s\n", program,
               errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
  return ExitCode::bad_input;
}

}  // namespace

int enter(const char* program, int argc, char** argv, RunWords run) {
  install_handlers();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(with_results_out(
      program,
      guarded(program, words, run, Context{&cancel_requested, isatty(STDERR_FILENO) == 1})));
}

}  // namespace assay::console
