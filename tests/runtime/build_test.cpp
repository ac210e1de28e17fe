// Building kernels: the cache, its recovery, and messages of failed builds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>

#include "tests/codegen/kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

Kernel shifted(const std::string& name, double by) {
  return elementwise(name, 40, [=](Value v) {
    return op(ValueOp::add, {v, constant_of(by, v.lanes)});
  });
}

class Environment {  // invariant: restores the variable it set
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* v = std::getenv(name)) before_ = v;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

int files_in(const fs::path& folder) {
  int n = 0;
  for ([[maybe_unused]] const auto& f : fs::directory_iterator(folder)) ++n;
  return n;
}

TEST(Build, a_second_load_compiles_nothing) {
  Host host;
  EXPECT_GT(host.load({shifted("a", 1), shifted("b", 2)})->build_seconds(), 0);
  EXPECT_EQ(host.load({shifted("b", 2), shifted("a", 1)})->build_seconds(), 0);
  EXPECT_EQ(host.load({shifted("another_name", 2)})->build_seconds(), 0);
  EXPECT_EQ(files_in(host.folder()), 2) << "work folders are removed";
}

TEST(Build, only_what_changed_is_built_again) {
  Host host;
  std::vector<Kernel> kernels;
  for (int i = 0; i < 20; ++i) kernels.push_back(shifted("k" + std::to_string(i), i));
  int64_t total = 0, done = 0;
  host.options().progress = [&](int64_t d, int64_t t, const std::string&) { done = d, total = t; };
  host.load(kernels);
  EXPECT_EQ(total, 20);
  EXPECT_EQ(done, 20);
  kernels[7] = shifted("k7", 77);
  host.load(kernels);
  EXPECT_EQ(total, 1);
}

TEST(Build, equal_kernels_share_a_binary) {
  Host host;
  const auto m = host.load({shifted("a", 1), shifted("b", 1), shifted("a", 1)});
  ASSERT_EQ(m->reports().size(), 3u);
  EXPECT_EQ(m->reports()[1].kernel, "b");
  EXPECT_GT(m->reports()[1].code_bytes, 0);
  EXPECT_EQ(files_in(host.folder() / "libraries"), 1);
}

TEST(Build, damaged_entries_and_libraries_are_built_again) {
  for (const char* part : {"entries", "libraries"}) {
    Host host;
    host.load({shifted("a", 1)});
    for (const auto& f : fs::directory_iterator(host.folder() / part)) {
      fs::remove(f.path());
      std::ofstream(f.path()) << "garbage";
    }
    const auto m = host.load({shifted("a", 1)});
    ASSERT_NE(m, nullptr);
    EXPECT_GT(m->build_seconds(), 0);
    const auto x = host.random(40);
    EXPECT_EQ(Host::run(*m, 0, {x, host.poison(40)})[1][3], x[3] + 1);
    EXPECT_EQ(host.load({shifted("a", 1)})->build_seconds(), 0);
  }
}

TEST(Build, other_flags_are_another_entry) {
  Host host;
  host.load({shifted("a", 1)});
  host.options().optimization = "-O1";
  EXPECT_GT(host.load({shifted("a", 1)})->build_seconds(), 0);
}

std::string failure(Host& host, const std::vector<Kernel>& kernels) {
  const auto m = host.device().load(kernels, {}, host.options());
  return m.ok() ? "" : render(m.diags());
}

TEST(Build, a_compile_error_names_kernel_and_log) {
  Host host;
  host.options().optimization = "-Obogus";
  EXPECT_THAT(failure(host, {shifted("first", 1), shifted("second", 2)}),
              AllOf(HasSubstr("kernel 'first' does not compile: "),
                    HasSubstr("kernel 'second' does not compile: "), HasSubstr("gave exit code 1"),
                    HasSubstr("-O")));
  EXPECT_EQ(files_in(host.folder() / "entries"), 0);
}

std::vector<Kernel> shifts(int n) {
  std::vector<Kernel> out;
  for (int i = 0; i < n; ++i) out.push_back(shifted("k" + std::to_string(i), i));
  return out;
}

TEST(Build, a_shared_binary_serves_each_of_its_kernels) {
  Host host;
  const std::vector<Kernel> kernels = shifts(40);
  host.load(kernels);
  EXPECT_LE(files_in(host.folder() / "libraries"), std::max(2, host.device().info().units));
  for (const Kernel& k : kernels) EXPECT_EQ(host.load({k})->build_seconds(), 0) << k.name;
}

// A compiler that dies of one kernel's text, as by a fault of its own.
TEST(Build, a_kernel_that_fails_among_many_is_found_and_the_others_are_kept) {
  Host host;
  fs::create_directories(host.folder());
  const fs::path compiler = host.folder() / "compiler";
  std::ofstream(compiler)
      << "#!/bin/sh\n"
         "for a; do case $a in *.cpp) grep -q '777\\.' $a && exit 9 ;; esac; done\n"
         "exec c++ \"$@\"\n";
  fs::permissions(compiler, fs::perms::owner_all);
  std::vector<Kernel> kernels = shifts(40);
  kernels[11] = shifted("culprit", 777);
  const Environment chosen("CXX", compiler.c_str());
  auto device = open("cpu:0");
  ASSERT_TRUE(device.ok());
  const auto m = (*device)->load(kernels, {}, host.options());
  ASSERT_FALSE(m.ok());
  ASSERT_EQ(m.diags().size(), 1u) << render(m.diags());
  EXPECT_THAT(m.diags()[0].message, AllOf(HasSubstr("kernel 'culprit' does not compile: "),
                                          HasSubstr("gave exit code 9")));
  kernels.erase(kernels.begin() + 11);
  const auto rest = (*device)->load(kernels, {}, host.options());
  ASSERT_TRUE(rest.ok()) << render(rest.diags());
  EXPECT_EQ((*rest)->build_seconds(), 0);
}

TEST(Build, what_the_dialect_can_not_spell_names_the_kernel) {
  Host host;
  Kernel k = shifted("odd", 1);
  k.registers = {{"r", DType::f32, 3}};
  EXPECT_THAT(failure(host, {k}),
              HasSubstr("kernel 'odd': dialect 'cpp' can not spell vectors of 3 lanes"));
  hwdesc::Target opencl;
  opencl.api.dialect = "opencl";
  EXPECT_THAT(render(host.device().load({}, opencl, host.options()).diags()),
              HasSubstr("runs dialect 'cpp', the target is for 'opencl'"));
}

TEST(Build, a_missing_compiler_says_what_to_install) {
  Host host;
  {
    const Environment none("PATH", "/nonexistent"), chosen("CXX", "");
    EXPECT_THAT(failure(host, {shifted("a", 1)}),
                AllOf(HasSubstr("no C++ compiler"), HasSubstr("hint: apt install g++")));
    const std::vector<Absence> absent = devices().absent;
    const auto cpu = std::find_if(absent.begin(), absent.end(),
                                  [](const Absence& a) { return a.id == "cpu:0"; });
    ASSERT_NE(cpu, absent.end());
    EXPECT_THAT(cpu->reason, HasSubstr("no C++ compiler"));
    EXPECT_THAT(render(open("cpu:0").diags()),
                AllOf(HasSubstr("'cpu:0' is not usable: no C++ compiler"),
                      HasSubstr("hint: apt install g++")));
  }
  const Environment wrong("CXX", "no-such-compiler");
  EXPECT_THAT(failure(host, {shifted("a", 1)}),
              HasSubstr("'no-such-compiler' named by $CXX does not run"));
}

TEST(Build, an_unwritable_cache_falls_back_with_a_warning) {
  Host host;
  std::ofstream(host.folder()) << "a file where the folder should be";
  const auto m = host.load({shifted("a", 1)});
  ASSERT_NE(m, nullptr);
  ASSERT_EQ(m->warnings().size(), 1u);
  EXPECT_THAT(m->warnings()[0].message, HasSubstr("can not be written; using '"));
}

TEST(Build, cancelling_kills_the_compilers_and_keeps_finished_kernels) {
  Host host;
  std::vector<Kernel> kernels;
  for (int i = 0; i < 40; ++i) kernels.push_back(shifted("k" + std::to_string(i), i));
  std::atomic<bool> cancel{false};
  host.options().cancel = &cancel;
  host.options().progress = [&](int64_t, int64_t, const std::string&) { cancel = true; };
  EXPECT_EQ(failure(host, kernels), "error: cancelled\n");
  EXPECT_GT(files_in(host.folder() / "entries"), 0);
  EXPECT_EQ(files_in(host.folder()), 2);
  cancel = false;
  host.options().progress = {};
  EXPECT_NE(host.load(kernels), nullptr);
}

TEST(Build, leftovers_of_dead_processes_are_removed) {
  Host host;
  fs::create_directories(host.folder() / "work.999999999.0");
  host.load({shifted("a", 1)});
  EXPECT_FALSE(fs::exists(host.folder() / "work.999999999.0"));
}

// The tile of 28 accumulators must stay in the 32 registers of 512 bits.
TEST(Build, a_register_tile_does_not_spill) {
  Host host;
  for (const auto& [key, value] : host.device().info().facts)
    if (key == "isa" && value != "avx512f") GTEST_SKIP() << "needs AVX-512, this is " << value;
  const auto m = host.load({matmul_tile(14, 2, 256, 8), matmul_tile(6, 4, 256, 8)});
  ASSERT_NE(m, nullptr);
  for (const KernelReport& r : m->reports()) {
    EXPECT_GE(r.stack_bytes, 0);
    EXPECT_LT(r.stack_bytes, 64) << r.kernel;
  }
}

// 12 accumulators of 256 bits and what they are made of must stay in 16 registers: a bias is not
// loaded before the sums it is added to, and a step keeps nothing that the next one loads.
TEST(Build, register_tiles_fit_beside_biases_and_windows) {
  Host host;
  for (const auto& [key, value] : host.device().info().facts)
    if (key == "isa" && value == "sse2") GTEST_SKIP() << "needs vectors of 256 bits";
  const auto m = host.load({biased_tiles(4, 44, 64, 2), sliding_sums(11, 5, 64, 2)});
  ASSERT_NE(m, nullptr);
  for (const KernelReport& r : m->reports()) {
    EXPECT_GE(r.stack_bytes, 0);
    EXPECT_LT(r.stack_bytes, 64) << r.kernel;
  }
}

}  // namespace
}  // namespace assay::runtime
