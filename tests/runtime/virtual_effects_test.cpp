// Effects of a simulated chip beyond its profile: noise, clocks, faults, and parsing of its file.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "runtime/virtual/effects.h"
#include "tests/runtime/virtual_chip.h"

namespace assay::runtime {
namespace {

using testing::Chip;
using ::testing::HasSubstr;

// Ticks of 64 additions.
std::vector<double> samples(Chip& chip, int n) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i)
    out.push_back(chip.counted("sentinel", 1000) * 64 / probe::kSentinelSteps);
  return out;
}

TEST(VirtualEffects, noise_is_drawn_from_a_seed) {
  const std::string noisy = "noise: 0.02\nseed: 7\n";
  Chip chip(testing::kSmallChip, noisy), again(testing::kSmallChip, noisy),
      other(testing::kSmallChip, "noise: 0.02\nseed: 8\n");
  const std::vector<double> all = samples(chip, 2000);
  EXPECT_EQ(all, samples(again, 2000));
  EXPECT_NE(all, samples(other, 2000));
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_NEAR(sorted[1000], 64, 0.3);
  EXPECT_NEAR((sorted[1680] - sorted[320]) / 2, 0.02 * 64, 0.2) << "a sigma each way";
  EXPECT_GT(sorted.back(), 64 * 1.5) << "some are interrupted";
  EXPECT_LT(sorted[1900], 64 * 1.1) << "few are";
}

TEST(VirtualEffects, clocks_rise_and_fall_with_work) {
  Chip hot(testing::kSmallChip, "throttle: {after: 1 ms, to: 0.5}\n");
  EXPECT_NEAR(samples(hot, 1)[0], 64, 0.1);
  hot.counted("sentinel", 20000);
  EXPECT_NEAR(samples(hot, 1)[0], 128, 0.2);
  EXPECT_NEAR(hot.chase(512 << 10), 100, 10) << "memory has a clock of its own";
  Chip cold(testing::kSmallChip, "dvfs: {from: 0.25, over: 1 ms}\n");
  EXPECT_NEAR(samples(cold, 1)[0], 256, 1);
  cold.counted("sentinel", 50000);
  EXPECT_NEAR(samples(cold, 1)[0], 64, 0.1);
}

// There for 1 of 3 ms: additions only show its clock, multiply-adds its slots, a chase its caches.
TEST(VirtualEffects, a_neighbour_comes_and_goes) {
  const std::string often = "neighbour: {every: 3 ms, lasts: 1 ms, ";
  Chip slower(testing::kSmallChip, often + "clock: 0.5}\n");
  EXPECT_NEAR(samples(slower, 1)[0], 128, 0.2);
  slower.counted("sentinel", 20000);
  EXPECT_NEAR(samples(slower, 1)[0], 64, 0.1) << "it left";
  Chip crowded(testing::kSmallChip, often + "slots: 0.5}\n");
  EXPECT_NEAR(samples(crowded, 1)[0], 64, 0.1) << "of 4 issue slots one suffices";
  const int out = crowded.buffer(1 << 16);
  const auto multiply_adds = [&] { return crowded.counted("op_fma_16_8", 1000, {{out, 0}}); };
  const double beside = multiply_adds();
  crowded.counted("sentinel", 20000);
  EXPECT_NEAR(beside / multiply_adds(), 2, 0.1);
  Chip smaller(testing::kSmallChip, "neighbour: {every: 1 s, lasts: 0.9 s, caches: 0.5}\n");
  Chip whole(testing::kSmallChip);
  EXPECT_NEAR(smaller.chase(4 << 10), 5, 0.5) << "of 12 KiB 6 are left";
  EXPECT_NEAR(whole.chase(10 << 10), 5, 0.5);
  EXPECT_GT(smaller.chase(10 << 10), 12);
}

std::string fact_of(const std::string& effects, const char* name) {
  Chip chip(testing::kSmallChip, effects);
  return chip.device().info().fact(name);
}

TEST(VirtualEffects, a_system_declares_what_it_is_told_to) {
  EXPECT_EQ(fact_of("", "declared.l1"), "");
  EXPECT_EQ(fact_of("declares: 1\n", "declared.l1"), "12K, shared by CPUs 0, line 64 B");
  EXPECT_EQ(fact_of("declares: 2\n", "declared.l2"), "128K, shared by CPUs 0-1, line 128 B");
  EXPECT_EQ(fact_of("declares: 0.5\n", "declared.l1"), "6K, shared by CPUs 0, line 32 B");
}

TEST(VirtualEffects, an_error_comes_at_its_run_and_once) {
  Chip chip(testing::kSmallChip, "fault: {kind: error, at: 2}\n");
  samples(chip, 1);
  EXPECT_THROW(samples(chip, 1), std::runtime_error);
  samples(chip, 1);
}

TEST(VirtualEffects, lies_are_impossible_times) {
  Chip chip(testing::kSmallChip, "fault: {kind: lies, at: 0.1}\n");
  const std::vector<double> all = samples(chip, 500);
  const auto lies = std::count_if(all.begin(), all.end(), [](double t) { return t < 10; });
  EXPECT_GT(lies, 20);
  EXPECT_LT(lies, 100);
}

TEST(VirtualEffects, lies_affect_launches_but_not_the_total) {
  Chip chip(testing::kSmallChip, "fault: {kind: lies, at: 1}\n");
  Module& module = chip.module();
  const Launch l = chip.launch("sentinel", {chip.parameters({1e5})}, {{0, 0, 1}});
  const RunTimes lied = module.run({&l, 1}, {}).value(), told = module.run({&l, 1}, {}).value();
  EXPECT_NEAR(lied.busy[0][0], told.busy[0][0] / 16, told.busy[0][0] / 1000);
  EXPECT_NEAR(lied.total[0], told.total[0], told.total[0] / 1000);
}

// The status of a child that ran a chip; nullopt if it still runs.
std::optional<int> status_of(const std::string& effects, double patience) {
  Chip chip(testing::kSmallChip, effects);  // the parent removes its folder
  const pid_t child = ::fork();
  if (child == 0) {
    samples(chip, 3);
    ::_exit(0);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  int status = 0;
  while (std::chrono::steady_clock::now() < end) {
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return std::nullopt;
}

TEST(VirtualEffects, a_crash_ends_the_process_and_a_hang_does_not) {
  const auto crash = status_of("fault: {kind: crash, at: 2}\n", 60);
  ASSERT_TRUE(crash.has_value());
  EXPECT_TRUE(WIFSIGNALED(*crash) && WTERMSIG(*crash) == SIGABRT);
  const auto well = status_of("", 60);
  ASSERT_TRUE(well.has_value());
  EXPECT_EQ(*well, 0);
  EXPECT_FALSE(status_of("fault: {kind: hang, at: 2}\n", 1.5).has_value());
}

std::string complaint(const std::string& text) {
  const auto effects = simulated::parse_effects(text, "v.yaml");
  return effects.ok() ? "" : render(effects.diags());
}

TEST(VirtualEffects, every_key_is_read) {
  const auto e = simulated::parse_effects(
      "schema: assay/virtual/1\nprofile: p\nnoise: 0.1\nseed: 3\nthrottle: {after: 0.5 s, to: "
      "0.7}\ndvfs: {from: 0.4, over: 2 ms}\n"
      "prefetch: off\nhash: true\nvictim: l3\nreplacement: plru\nfault: {kind: lies, at: 0.25}\n"
      "neighbour: {every: 7 ms, lasts: 3 ms, caches: 0.5, slots: 0.6, clock: 0.7}\n"
      "declares: 2\nbuild: 5 ms\n",
      "v.yaml");
  ASSERT_TRUE(e.ok()) << render(e.diags());
  EXPECT_EQ(e->profile, "p");
  EXPECT_EQ(e->noise, 0.1);
  EXPECT_EQ(e->seed, 3u);
  EXPECT_EQ(e->throttle_after, 0.5);
  EXPECT_EQ(e->throttle_to, 0.7);
  EXPECT_EQ(e->ramp_from, 0.4);
  EXPECT_EQ(e->ramp_over, 2e-3);
  EXPECT_FALSE(e->prefetch);
  EXPECT_TRUE(e->hash);
  EXPECT_EQ(e->victim, "l3");
  EXPECT_EQ(e->replacement, simulated::Replacement::plru);
  EXPECT_EQ(e->fault.kind, simulated::FaultKind::lies);
  EXPECT_EQ(e->fault.at, 0.25);
  EXPECT_EQ(e->neighbour.every, 7e-3);
  EXPECT_EQ(e->neighbour.lasts, 3e-3);
  EXPECT_EQ(e->neighbour.caches, 0.5);
  EXPECT_EQ(e->neighbour.slots, 0.6);
  EXPECT_EQ(e->neighbour.clock, 0.7);
  EXPECT_EQ(e->declares, 2);
  EXPECT_EQ(e->build, 5e-3);
}

TEST(VirtualEffects, faults_of_the_file_are_named_with_their_place) {
  const std::string head = "schema: assay/virtual/1\nprofile: p\n";
  EXPECT_EQ(
      complaint(head + "nois: 0.1\n"),
      "v.yaml:3:1: error: unknown key 'nois'\n  nois: 0.1\n  ^\nhint: did you mean 'noise'?\n");
  EXPECT_THAT(complaint(head + "noise: 2\n"), HasSubstr("v.yaml:3:8: error: 2 is not from 0 to 1"));
  EXPECT_THAT(complaint(head + "replacement: lur\n"), HasSubstr("did you mean 'lru'?"));
  EXPECT_THAT(complaint(head + "throttle: {after: 5, to: 0.5}\n"), HasSubstr("v.yaml:3:19: error"));
  EXPECT_THAT(complaint(head + "fault: {kind: explode}\n"),
              HasSubstr("v.yaml:3:15: error: 'explode' is not known here"));
  EXPECT_THAT(complaint(head + "fault: {at: 2}\n"), HasSubstr("a fault without a kind"));
  EXPECT_THAT(complaint(head + "neighbour: {every: 1 ms, lasts: 2 ms}\n"),
              HasSubstr("a neighbour needs `every`, and a shorter `lasts`"));
  EXPECT_THAT(complaint(head + "neighbour: {every: 2 ms, lasts: 1 ms, caches: 0}\n"),
              HasSubstr("0 is not from 0.01 to 1"));
  EXPECT_THAT(complaint(head + "noise: [1]\n"), HasSubstr("'noise' is one value"));
  EXPECT_THAT(complaint("schema: assay/virtual/2\nprofile: p\n"),
              HasSubstr("expected assay/virtual/1"));
  EXPECT_THAT(complaint("schema: assay/virtual/1\n"), HasSubstr("'profile' is missing"));
  EXPECT_THAT(complaint("[]"), HasSubstr("expected a map"));
}

TEST(VirtualDevices, errors_of_unknown_names_suggest_similar_ones) {
  EXPECT_THAT(render(open("virtual:qualcomm/adreno-64O").diags()),
              HasSubstr("did you mean 'qualcomm/adreno-640'?"));
  EXPECT_THAT(render(open("virtual:nothing-like-it-at-all").diags()),
              HasSubstr("hypothetical/every-field"));
  EXPECT_FALSE(open("virtual:").ok());
  EXPECT_THROW(Chip(testing::kSmallChip, "victim: l9\n"), std::runtime_error);
}

TEST(VirtualDevices, every_profile_of_the_library_runs) {
  for (const char* name : {"generic/x86-avx512-2core", "qualcomm/adreno-640", "arm/mali-g76-mp5",
                           "apple/m1-gpu-8core", "nvidia/a100-sxm4-40gb", "nvidia/h100-sxm5-80gb",
                           "nvidia/v100-pcie-16gb", "nvidia/rtx-3090", "amd/mi210", "graphcore/gc2",
                           "google/tpu-v3", "hypothetical/every-field"}) {
    auto device = open(std::string("virtual:") + name);
    ASSERT_TRUE(device.ok()) << name << render(device.diags());
    const DeviceInfo& info = (*device)->info();
    EXPECT_TRUE(info.simulated) << name;
    ASSERT_FALSE(info.widths.empty()) << name;
    ir::Kernel k = probe::code::empty("twice");
    const int lanes = info.widths.front();
    k.groups = 5;
    k.buffers = {{"x", ir::DType::f32, 5 * lanes, ir::Scope::global, false},
                 {"y", ir::DType::f32, 5 * lanes, ir::Scope::global, true}};
    const ir::Value x = probe::code::load(0, ir::variable(0, lanes), ir::DType::f32, lanes);
    k.body = {probe::code::store(1, ir::variable(0, lanes),
                                 probe::code::apply(ir::ValueOp::add, {x, x}))};
    auto module = (*device)->load({&k, 1}, {}, {});
    ASSERT_TRUE(module.ok()) << name << render(module.diags());
    std::vector<float> values(static_cast<size_t>(5 * lanes), 1.5F);
    const int from = (*module)->allocate(20 * lanes).value(),
              to = (*module)->allocate(20 * lanes).value();
    (*module)->write({from, 0}, std::as_bytes(std::span(values)));
    const Launch l{0, {{from, 0}, {to, 0}}, {}};
    const auto times = (*module)->run({&l, 1}, {});
    ASSERT_TRUE(times.ok()) << name << render(times.diags());
    EXPECT_GT(times->busy[0][0], 0) << name;
    (*module)->read({to, 0}, std::as_writable_bytes(std::span(values)));
    for (const float v : values) ASSERT_EQ(v, 3.0F) << name;
  }
}

}  // namespace
}  // namespace assay::runtime
