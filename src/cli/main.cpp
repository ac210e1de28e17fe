// The program `assay`: signals, exceptions and the one exit.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/command.h"

namespace {

std::atomic<bool> cancel_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The first Ctrl-C asks to stop, the second stops.
void on_interrupt(int) {
  if (cancel_requested.exchange(true)) _exit(static_cast<int>(assay::cli::ExitCode::interrupted));
}

// A failed CHECK has printed its place and aborts.
void on_abort(int) { _exit(static_cast<int>(assay::cli::ExitCode::internal)); }

void install_handlers() {
  struct sigaction interrupt {};
  interrupt.sa_handler = on_interrupt;
  sigaction(SIGINT, &interrupt, nullptr);
  sigaction(SIGTERM, &interrupt, nullptr);
  struct sigaction abort {};
  abort.sa_handler = on_abort;
  sigaction(SIGABRT, &abort, nullptr);
}

assay::cli::ExitCode guarded(const std::vector<std::string>& words,
                             const assay::cli::Context& context) {
  try {
    return assay::cli::run_words(words, context);
  } catch (const std::bad_alloc&) {
    std::fputs("assay: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "assay: internal error: %s\n", e.what());
  }
  return assay::cli::ExitCode::internal;
}

}  // namespace

int main(int argc, char** argv) {
  install_handlers();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const assay::cli::Context context{&cancel_requested, isatty(STDERR_FILENO) == 1};
  return static_cast<int>(guarded(words, context));
}
