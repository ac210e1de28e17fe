// Each case is a process of its own: the driver's library is loaded once per process, and layers with an instance.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace assay::testing {

using Settings = std::vector<std::pair<std::string, std::string>>;

// What `body` returns, after what it printed, run in a child with these variables set and the library that fails on demand.
inline std::string said(const Settings& settings, const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::setenv("ASSAY_VULKAN_LIBRARY", FAILING_VULKAN, 0);
    ::setenv("ASSAY_TEST_DEVICE", "vulkan:0", 1);
    for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
    std::string text;
    try {
      text = body();
    } catch (const std::exception& e) {
      text = e.what();
    }
    ::fflush(stdout);
    const ssize_t n = ::write(ends[1], text.data(), text.size());
    ::_exit(n == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) out.append(buffer.data(), static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return out;
}

}  // namespace assay::testing
