#include "probe/worker.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace assay::probe {
namespace {

using Body = std::function<std::string(const Send&)>;

Ending run(const Body& body, std::vector<std::string>& lines, double limit_s = 10) {
  return run_worker("made", body, [&](const std::string& l) { lines.push_back(l); }, {limit_s, nullptr});
}

TEST(Worker, HandsItsLinesOn) {
  std::vector<std::string> lines;
  const Ending e = run([](const Send& send) { send("a"); send("b"); return std::string(); }, lines);
  EXPECT_EQ(e.outcome, Outcome::done);
  EXPECT_THAT(lines, testing::ElementsAre("a", "b"));
}

TEST(Worker, ACrashCostsOnlyWhatItHadNotSent) {
  std::vector<std::string> lines;
  const Ending e = run([](const Send& send) -> std::string { send("a"); ::raise(SIGSEGV); return ""; }, lines);
  EXPECT_EQ(e.outcome, Outcome::crashed);
  EXPECT_THAT(e.reason, testing::HasSubstr("signal 11"));
  EXPECT_THAT(lines, testing::ElementsAre("a"));
}

TEST(Worker, AHangEndsAtItsLimit) {
  std::vector<std::string> lines;
  const Ending e = run([](const Send&) -> std::string { while (true) ::pause(); }, lines, 0.3);
  EXPECT_EQ(e.outcome, Outcome::timed_out);
  EXPECT_LT(e.seconds, 2);
}

TEST(Worker, SaysWhatFailed) {
  std::vector<std::string> lines;
  EXPECT_EQ(run([](const Send&) { return std::string("no\nluck"); }, lines).reason, "no luck");
  EXPECT_EQ(run([](const Send&) -> std::string { throw std::runtime_error("bad"); }, lines).reason, "bad");
}

TEST(Worker, CanBeCancelled) {
  runtime::CancelToken cancel{false};
  std::thread later([&] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); cancel = true; });
  const Ending e = run_worker("made", [](const Send&) -> std::string { while (true) ::pause(); }, [](const std::string&) {}, {10, &cancel});
  later.join();
  EXPECT_EQ(e.outcome, Outcome::cancelled);
}

}  // namespace
}  // namespace assay::probe
