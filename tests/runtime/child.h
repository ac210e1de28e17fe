// Runs a body in a child process, since driver libraries are loaded once per process, and layers
// with an instance.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace assay::testing {

using Variables = std::vector<std::pair<std::string, std::string>>;

enum class Output { dropped, kept };

// What `body` returns or throws, run in a child with these variables set. With Output::kept,
// preceded by its stdout and stderr.
inline std::string said_in_child(const Variables& variables,
                                 const std::function<std::string()>& body,
                                 Output output = Output::dropped) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    for (int to = 1; to <= 2 && output == Output::kept; ++to) ::dup2(ends[1], to);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    std::string text;
    try {
      text = body();
    } catch (const std::exception& e) {
      text = e.what();
    }
    std::fflush(stdout);
    const ssize_t n = ::write(ends[1], text.data(), text.size());
    ::_exit(n == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return out;
}

// The value of a variable, or `otherwise` if it is not set.
inline std::string set_or(const char* variable, const char* otherwise) {
  const char* set = std::getenv(variable);
  return set != nullptr ? set : otherwise;
}

}  // namespace assay::testing
