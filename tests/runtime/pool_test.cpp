// The pool: every group runs once, whatever the queues; order, exceptions, cancellation, idling.
#include "runtime/cpu/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <stdexcept>

#include "runtime/cpu/cpu_info.h"
#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::HasSubstr;

// y[group] += 1
Kernel counting(int64_t groups) {
  Kernel k;
  k.name = "counting";
  k.buffers = {output("y", groups)};
  k.index_names = {"group"};
  k.groups = groups;
  k.body = {store(0, variable(0), op(ValueOp::add, {load(0, variable(0), 1), constant_of(1, 1)}))};
  return k;
}

struct Counter {
  explicit Counter(Host& host, int64_t n)
      : module(host.load({counting(n)})), buffer(module->allocate(n * 4).value()), groups(n) {}
  std::vector<float> values() const {
    std::vector<float> v(static_cast<size_t>(groups));
    module->read({buffer, 0}, std::as_writable_bytes(std::span(v)));
    return v;
  }
  Launch launch(std::vector<ir::Queue> queues = {}) const {
    return {0, {{buffer, 0}}, std::move(queues)};
  }

  std::unique_ptr<Module> module;
  int buffer;
  int64_t groups;
};

TEST(Pool, runs_every_group_once_per_launch) {
  Host host;
  for (const int64_t groups : {1, 2, 3, 101}) {
    Counter c(host, groups);
    const std::vector<Launch> launches(100, c.launch());
    const auto times = c.module->run(launches, {.repeat = 5, .warm_up = 2});
    ASSERT_TRUE(times.ok()) << render(times.diags());
    EXPECT_EQ(c.values(), std::vector<float>(static_cast<size_t>(groups), 700.0f));
    ASSERT_EQ(times->steps.size(), 5u);
    for (size_t r = 0; r < 5; ++r) {
      ASSERT_EQ(times->steps[r].size(), 100u);
      double sum = 0;
      for (const double s : times->steps[r]) {
        EXPECT_GT(s, 0);
        sum += s;
      }
      EXPECT_NEAR(sum, times->total[r], 1e-9);
    }
  }
}

TEST(Pool, follows_uneven_queues) {
  Host host;
  Counter c(host, 10);
  const int last = host.device().info().units - 1;
  const auto run = [&](std::vector<ir::Queue> q) {
    const auto r = c.module->run(std::vector{c.launch(std::move(q))}, {});
    return r.ok() ? "" : render(r.diags());
  };
  EXPECT_EQ(run({{0, 0, 1}, {last, 1, 10}}), "");
  EXPECT_EQ(run({{last, 3, 5}, {last, 0, 3}, {0, 5, 5}, {last, 5, 10}}), "");
  EXPECT_EQ(run({{0, 0, 10}}), "");
  EXPECT_EQ(c.values(), std::vector<float>(10, 3.0f));
  EXPECT_THAT(run({{99, 0, 10}}), HasSubstr("launch 0: a queue is for unit 99, there are "));
  EXPECT_THAT(run({{0, 0, 11}}), HasSubstr("launch 0: a queue holds groups 0 to 11 of 10"));
  EXPECT_EQ(c.values(), std::vector<float>(10, 3.0f));
}

TEST(Pool, launches_of_one_run_have_queues_of_their_own) {
  Host host;
  Counter c(host, 10);
  const int last = host.device().info().units - 1;
  const std::vector<Launch> launches = {
      c.launch({{0, 9, 10}}), c.launch({{last, 8, 10}, {last, 1, 2}, {last, 4, 6}, {last, 2, 3}}),
      c.launch({{0, 3, 5}}), c.launch()};
  ASSERT_TRUE(c.module->run(launches, {.repeat = 2, .warm_up = 0}).ok());
  EXPECT_EQ(c.values(), (std::vector<float>{2, 4, 4, 4, 6, 4, 2, 2, 4, 6}));
  const auto none = c.module->run(std::vector<Launch>{}, {.repeat = 2, .warm_up = 0});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->total.size(), 2u);
}

TEST(Pool, reports_errors_of_launches) {
  Host host;
  Counter c(host, 10);
  const auto run = [&](Launch l) {
    return render(c.module->run(std::vector{std::move(l)}, {}).diags());
  };
  EXPECT_THAT(run({3, {}, {}}), HasSubstr("launch 0: there is no kernel 3, there are 1"));
  EXPECT_THAT(run({0, {}, {}}), HasSubstr("kernel 'counting' takes 1 arguments, not 0"));
  EXPECT_THAT(run({0, {{7, 0}}, {}}), HasSubstr("argument 'y' names buffer 7, there are 1"));
  EXPECT_THAT(run({0, {{c.buffer, 4}}, {}}),
              HasSubstr("argument 'y' needs 40 bytes at 4, buffer 0 has 40"));
}

TEST(Pool, many_short_launches_and_a_barrier_between_them) {
  Host host;  // each launch reads what the other unit wrote in the previous one
  const int64_t n = 64;
  Kernel k;
  k.name = "rotate";
  k.buffers = {input("x", n), output("y", n)};
  k.index_names = {"group"};
  k.groups = n;
  const Index from = Index{{{1, -1, {variable(0) + 33}, 1, n}}, 0};
  k.body = {store(1, variable(0), load(0, from, 1))};
  const auto module = host.load({k});
  ASSERT_NE(module, nullptr);
  const int a = module->allocate(n * 4).value(), b = module->allocate(n * 4).value();
  std::vector<float> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  module->write({a, 0}, std::as_bytes(std::span(x)));
  std::vector<Launch> launches;
  for (int i = 0; i < 64; ++i)
    launches.push_back({0, {{i % 2 ? b : a, 0}, {i % 2 ? a : b, 0}}, {}});
  ASSERT_TRUE(module->run(launches, {.repeat = 200, .warm_up = 0}).ok());
  std::vector<float> y(static_cast<size_t>(n));
  module->read({a, 0}, std::as_writable_bytes(std::span(y)));
  EXPECT_EQ(y, x);
}

TEST(Pool, stops_when_cancelled) {
  Host host;
  Counter c(host, 10);
  std::atomic<bool> cancel{true};
  const auto r =
      c.module->run(std::vector{c.launch()}, {.repeat = 1, .warm_up = 0, .cancel = &cancel});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(render(r.diags()), "error: cancelled\n");
  EXPECT_EQ(c.values(), std::vector<float>(10, 0.0f));
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  cancel = false;
  EXPECT_FALSE(
      c.module->run(std::vector{c.launch()}, {.repeat = 3'000'000, .warm_up = 0, .cancel = &cancel})
          .ok());
  EXPECT_TRUE(c.module->run(std::vector{c.launch()}, {}).ok());
}

TEST(Pool, detects_writes_outside_buffers) {
  Host host;
  Kernel k = counting(4);
  std::get<Store>(k.body[0].node).index = variable(0) + 2;
  const auto m = host.load({k});
  const int y = m->allocate(16).value();
  EXPECT_EQ(render(m->run(std::vector{Launch{0, {{y, 0}}, {}}}, {}).diags()),
            "error: a kernel wrote outside buffer 0\n");
}

TEST(Pool, flushes_denormals_during_runs_only) {
  Host host;
  const Kernel k = elementwise("half", 16, [](Value v) {
    return op(ValueOp::mul, {v, constant_of(0.5, v.lanes)});
  });
  EXPECT_EQ(host.run(k, {std::vector<float>(16, 1.2e-38f), host.poison(16)})[1][0], 0.0f);
  volatile float small = 1.2e-38f;
  EXPECT_NE(small * 0.5f, 0.0f);
}

TEST(Pool, rethrows_exceptions_and_remains_usable) {
  cpu::Pool pool(cpu::read_cpu_info().usable);
  for (int unit = 0; unit < pool.size(); ++unit)
    EXPECT_THROW(pool.run(pool.size(),
                          [&](int u) {
                            if (u == unit) throw std::runtime_error("no");
                          }),
                 std::runtime_error);
  std::atomic<int> ran{0};
  pool.run(pool.size(), [&](int) { ++ran; });
  EXPECT_EQ(ran, pool.size());
}

TEST(Pool, runs_any_number_of_units) {
  cpu::Pool pool(cpu::read_cpu_info().usable);
  std::atomic<int> ran{0};
  int expected = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int units = i % pool.size() + 1;
    pool.run(units, [&](int) {
      ++ran;
      pool.barrier().wait();
    });
    expected += units;
  }
  EXPECT_EQ(ran, expected);
}

TEST(Pool, pins_units_and_restores_the_callers_mask) {
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  const auto cpus = cpu::read_cpu_info().usable;
  cpu::Pool pool(cpus);
  std::vector<int> at(cpus.size(), -1);
  pool.run(pool.size(), [&](int u) { at[static_cast<size_t>(u)] = sched_getcpu(); });
  EXPECT_EQ(at, cpus);
  sched_getaffinity(0, sizeof after, &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

TEST(Pool, uses_no_cpu_time_when_idle) {
  cpu::Pool pool(cpu::read_cpu_info().usable);
  pool.run(pool.size(), [](int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_seconds() - before, 0.02);
}

TEST(Pool, calls_from_several_threads_are_serialised) {
  cpu::Pool pool(cpu::read_cpu_info().usable);
  std::atomic<int> inside{0}, ran{0};
  const auto caller = [&] {
    for (int i = 0; i < 200; ++i)
      pool.run(pool.size(), [&](int u) {
        if (u == 0) {
          EXPECT_EQ(inside++, 0);
        }
        ++ran;
        pool.barrier().wait();
        if (u == 0) --inside;
      });
  };
  std::thread a(caller), b(caller);
  a.join();
  b.join();
  EXPECT_EQ(ran, 400 * pool.size());
}

}  // namespace
}  // namespace assay::runtime
