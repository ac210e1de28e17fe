// Buffers of i8, u8 and i32 in kernels that compute in f32 or i32, and conversions in registers,
// compiled and run: every element, halfway cases and edges, against a reference of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hwdesc/target.h"
#include "tests/codegen/integer_kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace testing;
using Bytes = std::vector<std::byte>;

template <class T>
Bytes packed_as(const std::vector<double>& numbers) {
  Bytes out(numbers.size() * sizeof(T));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const T v = static_cast<T>(numbers[i]);
    std::memcpy(out.data() + i * sizeof v, &v, sizeof v);
  }
  return out;
}

template <class T>
std::vector<double> unpacked_as(const Bytes& bytes) {
  std::vector<double> out(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T v{};
    std::memcpy(&v, bytes.data() + i * sizeof v, sizeof v);
    out[i] = static_cast<double>(v);
  }
  return out;
}

Bytes pack(DType t, const std::vector<double>& numbers) {
  return t == DType::i8    ? packed_as<int8_t>(numbers)
         : t == DType::u8  ? packed_as<uint8_t>(numbers)
         : t == DType::i32 ? packed_as<int32_t>(numbers)
                           : packed_as<float>(numbers);
}

std::vector<double> unpack(DType t, const Bytes& bytes) {
  return t == DType::i8    ? unpacked_as<int8_t>(bytes)
         : t == DType::u8  ? unpacked_as<uint8_t>(bytes)
         : t == DType::i32 ? unpacked_as<int32_t>(bytes)
                           : unpacked_as<float>(bytes);
}

// Lanes are vectors, or threads.
class NarrowIntegers : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const DeviceInfo& info = host_.device().info();
    if (GetParam() && info.id == "cpu:0") GTEST_SKIP() << "no kernels of a thread per lane there";
    if (!GetParam() && info.simulated && info.threads) GTEST_SKIP() << "vectors are its threads'";
    if (GetParam() && info.simulated && !info.threads) GTEST_SKIP() << "its lanes are vectors";
    if (!GetParam() && info.id.starts_with("cuda")) GTEST_SKIP() << "no kernels of vectors there";
    for (const char* type : {"i8", "u8"})
      ASSERT_THAT(" " + info.fact("stores") + " ",
                  ::testing::HasSubstr(" " + std::string(type) + " "));
  }

  // Runs the kernel once on these numbers and gives those that are in its buffers then.
  std::vector<std::vector<double>> run(const Kernel& k,
                                       const std::vector<std::vector<double>>& numbers) {
    auto loaded = host_.device().load(
        std::vector{k}, GetParam() ? lanes_are_threads(16) : hwdesc::Target{}, host_.options());
    EXPECT_TRUE(loaded.ok()) << render(loaded.diags());
    if (!loaded.ok()) return {};
    const std::unique_ptr<Module> module = std::move(loaded).value();
    Launch launch{0, {}, {}};
    std::vector<Bytes> data;
    for (size_t b = 0; b < numbers.size(); ++b) {
      data.push_back(pack(k.buffers[b].dtype, numbers[b]));
      launch.arguments.push_back(
          {module->allocate(static_cast<int64_t>(data.back().size())).value(), 0});
      module->write(launch.arguments.back(), data.back());
    }
    const auto times = module->run(std::vector{launch}, {});
    EXPECT_TRUE(times.ok()) << render(times.diags());
    std::vector<std::vector<double>> out;
    for (size_t b = 0; b < data.size(); ++b) {
      module->read(launch.arguments[b], data[b]);
      out.push_back(unpack(k.buffers[b].dtype, data[b]));
    }
    return out;
  }

  void check_reads(const Pair& p, int lanes, size_t n, Space space = Space::plain) {
    const std::vector<double> x = all_whole(p.stored, rng_, n);
    std::uniform_int_distribution<int> any(0, static_cast<int>(n) - 1);
    std::vector<int> at(n);
    for (int& i : at) i = any(rng_);
    std::vector<std::vector<double>> data = {x, {at.begin(), at.end()}};
    data.resize(2 + kReads, std::vector<double>(n, static_cast<double>(kUntouched)));
    const auto got =
        run(computed_in(reads_kernel(p.stored, lanes, static_cast<int64_t>(n), space), p.computed),
            data);
    ASSERT_EQ(got.size(), data.size());
    for (int r = 0; r < kReads; ++r)
      for (size_t i = 0; i < n; ++i) {
        const double expected = whole_read_at(p, static_cast<ReadForm>(r), x, at, lanes, i);
        // A device may round the product of the multiply-add.
        const double near =
            r == kComputed && p.stored == DType::i32 ? std::abs(expected) * 0x1p-22 + 2048 : 0;
        ASSERT_NEAR(got[static_cast<size_t>(2 + r)][i], expected, near)
            << ir::name_of(p.stored) << " as " << ir::name_of(p.computed) << " read " << r
            << " element " << i << " of " << lanes << " lanes";
      }
  }

  void check_writes(const Pair& p, int lanes, size_t n) {
    const std::vector<double> w = all_whole(p.stored, rng_, n), v = values_to_store(p, rng_, n);
    std::vector<std::vector<double>> data = {v, w};
    for (int o = 0; o < kWrites; ++o)
      data.emplace_back(n * (o == kScattered ? 2 : 1), static_cast<double>(kUntouched));
    const auto got =
        run(computed_in(writes_kernel(p.stored, lanes, static_cast<int64_t>(n)), p.computed), data);
    ASSERT_EQ(got.size(), data.size());
    for (int o = 0; o < kWrites; ++o)
      for (size_t i = 0; i < got[static_cast<size_t>(2 + o)].size(); ++i)
        ASSERT_EQ(got[static_cast<size_t>(2 + o)][i],
                  whole_written_at(p, static_cast<WriteForm>(o), v, w, lanes, i))
            << ir::name_of(p.computed) << " to " << ir::name_of(p.stored) << " write " << o
            << " element " << i << " of " << v[o == kScattered ? i / 2 : i] << ", " << lanes
            << " lanes";
  }

  Host host_;
  std::mt19937 rng_{12};
};

TEST_P(NarrowIntegers, every_element_is_loaded) {
  for (const Pair& p : integer_pairs()) check_reads(p, 32, 2053);
}

TEST_P(NarrowIntegers, the_nearest_element_is_stored) {
  for (const Pair& p : integer_pairs()) check_writes(p, 32, 2053);
}

// Vectors of two to sixteen lanes, which threads do not have.
TEST_P(NarrowIntegers, short_vectors) {
  if (GetParam()) GTEST_SKIP() << "threads have one lane each";
  for (const Pair& p : integer_pairs())
    for (const int lanes : {2, 4, 8, 16}) {
      check_reads(p, lanes, 1023);
      check_writes(p, lanes, 1023);
    }
}

TEST_P(NarrowIntegers, constants) {
  if (host_.device().info().fact("constant_memory").empty() || host_.device().info().simulated)
    GTEST_SKIP() << "it has none of its own";
  host_.options().one_by_one = true;
  for (const Pair& p : integer_pairs()) check_reads(p, 32, 997, Space::constant);
}

TEST_P(NarrowIntegers, registers) {
  constexpr size_t kN = 2048;
  const std::vector<double> v = values_to_store({DType::i32, DType::f32}, rng_, kN),
                            w = all_whole(DType::i32, rng_, kN);
  for (const int lanes : {4, 32}) {
    if (GetParam() && lanes < 16) continue;
    std::vector<std::vector<double>> data = {v, w};
    data.resize(6, std::vector<double>(kN));
    const auto got = run(register_conversions(lanes, kN), data);
    ASSERT_EQ(got.size(), data.size());
    for (int o = 2; o < 6; ++o)
      for (size_t i = 0; i < kN; ++i)
        ASSERT_EQ(got[static_cast<size_t>(o)][i], register_converted(o, v[i], w[i]))
            << "output " << o << " of " << v[i] << ", " << w[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, NarrowIntegers, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "threads" : "vectors"; });

}  // namespace
}  // namespace assay::runtime
