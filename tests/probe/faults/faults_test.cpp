// A probe loses nothing under faults: drivers that return errors, crash, hang or lie, killed probes
// and workers, Ctrl-C. The journal stays byte for byte, --resume adds what is missing, and the
// profile is the undisturbed one's within its intervals.
//
// ASSAY_FAULTS is the number of faults, ASSAY_FIRST_FAULT the first one; each of them is
// reproducible.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

#include "hwdesc/diff.h"
#include "hwdesc/library.h"
#include "hwdesc/parse.h"
#include "probe/journal.h"
#include "tests/probe/faults/probe_process.h"

namespace assay::probe {
namespace {

using testing::Bed;
using testing::Probing;
using Clock = std::chrono::steady_clock;

constexpr int kDone = 0, kUnavailable = 3, kInterrupted = 130;

hwdesc::Profile parsed(const std::string& text) {
  auto profile = hwdesc::parse_profile(text, "profile.yaml", hwdesc::no_library);
  if (!profile) throw std::runtime_error(render(profile.diags()));
  return std::move(profile).value();
}

std::string whole_lines(const std::string& text) { return text.substr(0, text.rfind('\n') + 1); }

struct Undisturbed {
  hwdesc::Profile profile;
  double seconds = 0;
};

const Undisturbed& undisturbed() {
  static const Undisturbed once = [] {
    const Bed bed("");
    const auto start = Clock::now();
    Probing probing(bed, false);
    if (probing.wait() != kDone) throw std::runtime_error(probing.said());
    return Undisturbed{parsed(bed.profile()),
                       std::chrono::duration<double>(Clock::now() - start).count()};
  }();
  return once;
}

// Values that the undisturbed profile does not have: a fault may cost values, but adds none.
std::vector<std::string> spurious_values(const hwdesc::Profile& found, bool all) {
  std::vector<std::string> out;
  for (const hwdesc::Difference& d : hwdesc::diff(undisturbed().profile, found)) {
    const bool missing = d.right.empty() || (d.right == "unknown" && d.left != "unknown");
    if (missing ? all : d.verdict == hwdesc::Verdict::beyond)
      out.push_back(hwdesc::print_diff({d}));
  }
  return out;
}

// What happens to one probe.
struct Fault {
  std::string name;
  std::string effect;                          // of the chip; "": none
  std::function<void(Probing&)> disturb = {};  // while it runs
  int times = 1;                               // disturbances, each followed by a resumed probe
  const char* patience = "90s";
};

void wait_a_part(std::mt19937& random) {
  const double part = std::uniform_real_distribution<double>(0, 0.9)(random);
  std::this_thread::sleep_for(std::chrono::duration<double>(part * undisturbed().seconds));
}

Fault effect(const char* kind, double at) {
  return {std::string(kind) + " at " + std::to_string(at),
          "kind: " + std::string(kind) + ", at: " + std::to_string(at)};
}

Fault killed(const char* name, std::mt19937& random, int times,
             const std::function<void(Probing&)>& how) {
  return {name, "",
          [&random, how](Probing& p) {
            wait_a_part(random);
            how(p);
          },
          times};
}

Fault fault_of(int i, std::mt19937& random) {
  const auto run = [&] {
    return static_cast<double>(std::uniform_int_distribution<int>(1, 120)(random));
  };
  const auto worker = [](Probing& p) {
    while (p.runs() && !p.kill_worker()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  switch (i % 8) {
    case 0:
      return killed("the probe is killed", random, 3, [](Probing& p) { p.kill(SIGKILL); });
    case 1:
      return effect("lies", i % 16 < 8 ? run() : 0.05);
    case 2:
      return killed("a worker is killed", random, 1, worker);
    case 3:
      return effect("crash", i % 16 < 8 ? run() : 0.01);
    case 4:
      return killed("Ctrl-C", random, 2, [](Probing& p) { p.interrupt(); });
    case 5:
      return effect("error", i % 16 < 8 ? run() : 0.01);
    case 6: {
      Fault hang = effect("hang", 200 + run());
      // on a busy machine other experiments may look hung; they are resumed, too
      hang.patience = "6s";
      return hang;
    }
    default:
      return killed("the probe is ended", random, 1, [](Probing& p) { p.kill(SIGTERM); });
  }
}

// A chip whose first runs fail is not measured at all; a killed probe may just have ended.
void disturb(const Fault& fault, const Bed& bed) {
  for (int i = 0; i < fault.times; ++i) {
    const std::string before = whole_lines(bed.journal());
    Probing probing(bed, i > 0, fault.patience);
    if (fault.disturb) fault.disturb(probing);
    const int code = probing.wait();
    EXPECT_THAT(code, ::testing::AnyOf(kDone, kUnavailable, kInterrupted, 128 + SIGKILL))
        << probing.said();
    EXPECT_TRUE(bed.journal().starts_with(before)) << "journalled lines are lost";
    if (code != kDone) continue;
    EXPECT_THAT(spurious_values(parsed(bed.profile()), false), ::testing::IsEmpty());
  }
}

// The fault is over, and the probe is resumed.
void go_on(const Bed& bed) {
  const std::string before = whole_lines(bed.journal());
  bed.set_fault("");
  Probing probing(bed, !before.empty());
  ASSERT_EQ(probing.wait(), kDone) << probing.said();
  EXPECT_TRUE(bed.journal().starts_with(before)) << "journalled lines are lost";
  const auto all = parse_journal(bed.journal(), "journal");
  ASSERT_TRUE(all.ok()) << render(all.diags());
  for (const Ending& e : all->endings)
    EXPECT_TRUE(all->finished(e.experiment)) << e.experiment << ": " << e.reason;
  EXPECT_THAT(spurious_values(parsed(bed.profile()), true), ::testing::IsEmpty());
}

int number(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr ? std::atoi(value) : otherwise;
}

TEST(Faults, AreSurvivedAndNothingIsLost) {
  const int first = number("ASSAY_FIRST_FAULT", 0), behind = first + number("ASSAY_FAULTS", 8);
  for (int i = first; i < behind; ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    const Fault fault = fault_of(i, random);
    SCOPED_TRACE(std::to_string(i) + ": " + fault.name);
    std::cout << i << ": " << fault.name << std::endl;  // a hundred take a while
    const Bed bed(fault.effect);
    disturb(fault, bed);
    go_on(bed);
  }
}

// Times that are always wrong give no numbers: the probe reports it and ends.
TEST(Faults, AClockThatAlwaysLiesIsAnError) {
  const Bed bed("kind: lies, at: 0.98");
  Probing probing(bed, false);
  EXPECT_EQ(probing.wait(), kUnavailable);
  EXPECT_THAT(probing.said(),
              ::testing::HasSubstr("the device's own times can not be trusted: the device says "));
  EXPECT_EQ(bed.profile(), "");
}

// Occasional wrong times were measured again, and the profile says so.
TEST(Faults, OccasionalWrongTimesAreReported) {
  const Bed bed("kind: lies, at: 0.03");
  Probing probing(bed, false);
  ASSERT_EQ(probing.wait(), kDone) << probing.said();
  EXPECT_THAT(bed.profile(), ::testing::HasSubstr("samples were taken again"));
  EXPECT_THAT(spurious_values(parsed(bed.profile()), false), ::testing::IsEmpty());
}

}  // namespace
}  // namespace assay::probe
