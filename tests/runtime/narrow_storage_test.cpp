// Buffers of small floats in kernels that compute in f32, compiled and run: every element, halfway
// cases, vectors and tails, gathers, scatters and group memory, against a reference of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "hwdesc/target.h"
#include "runtime/source.h"
#include "tests/codegen/storage_kernels.h"
#include "tests/runtime/host.h"

namespace assay::runtime {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

constexpr int kLanes = 32;
constexpr int64_t kAll16 = 65536 + 5;  // every element, and a tail

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const std::vector<T>& v) {
  Bytes out(v.size() * sizeof(T));
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}

template <class T>
std::vector<T> numbers_in(const Bytes& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// As elements of memory.
Bytes elements_of(DType type, const Bits& bits) {
  return ir::bytes_of(type) == 1 ? bytes_of(std::vector<uint8_t>(bits.begin(), bits.end()))
                                 : bytes_of(bits);
}
Bits bits_in(DType type, const Bytes& bytes) {
  if (ir::bytes_of(type) == 2) return numbers_in<uint16_t>(bytes);
  const auto codes = numbers_in<uint8_t>(bytes);
  return {codes.begin(), codes.end()};
}

// Lanes are vectors, or threads.
class NarrowStorage : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const DeviceInfo& info = host_.device().info();
    if (GetParam() && info.id == "cpu:0") GTEST_SKIP() << "no kernels of a thread per lane there";
    if (!GetParam() && info.simulated && info.threads) GTEST_SKIP() << "vectors are its threads'";
    if (GetParam() && info.simulated && !info.threads) GTEST_SKIP() << "its lanes are vectors";
    if (!GetParam() && info.id.starts_with("cuda")) GTEST_SKIP() << "no kernels of vectors there";
    for (const char* type : {"f16", "bf16"})
      ASSERT_THAT(" " + info.fact("stores") + " ", HasSubstr(" " + std::string(type) + " "));
  }

  std::unique_ptr<Module> built(const Kernel& k) {
    auto m = host_.device().load(
        std::vector{k}, GetParam() ? lanes_are_threads(16) : hwdesc::Target{}, host_.options());
    if (m.ok()) return std::move(m).value();
    ADD_FAILURE() << render(m.diags());
    return nullptr;
  }

  // Runs the kernel once and replaces the buffers by what is in them then.
  void run(const Kernel& k, std::vector<Bytes>& buffers) {
    const auto module = built(k);
    if (module == nullptr) return;
    Launch launch{0, {}, {}};
    for (const Bytes& b : buffers) {
      launch.arguments.push_back({module->allocate(static_cast<int64_t>(b.size())).value(), 0});
      module->write(launch.arguments.back(), b);
    }
    const auto times = module->run(std::vector{launch}, {});
    EXPECT_TRUE(times.ok()) << render(times.diags());
    for (size_t i = 0; i < buffers.size(); ++i) module->read(launch.arguments[i], buffers[i]);
  }

  static Bits codes_of(const Elements& elements, size_t n) {
    Bits bits = all_elements(n);
    for (uint16_t& b : bits) b = static_cast<uint16_t>(b % elements.codes());
    return bits;
  }

  // Of those of this device's buffers.
  std::vector<DType> types() {
    const std::string stores = " " + host_.device().info().fact("stores") + " ";
    std::vector<DType> out;
    for (const DType t : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2})
      if (stores.find(" " + std::string(ir::name_of(t)) + " ") != std::string::npos)
        out.push_back(t);
    return out;
  }

  std::vector<int> random_places(size_t n) {
    std::uniform_int_distribution<int> any(0, static_cast<int>(n) - 1);
    std::vector<int> out(n);
    for (int& at : out) at = any(rng_);
    return out;
  }

  void check_reads(DType type, int lanes, size_t n, Space space = Space::plain) {
    const Elements elements(type);
    const Bits bits = codes_of(elements, n);
    const std::vector<double> x = numbers_of(elements, bits);
    const std::vector<int> at = random_places(n);
    std::vector<Bytes> data = {elements_of(type, bits), bytes_of(at)};
    data.resize(2 + kReads, bytes_of(std::vector<float>(n, kUntouched)));
    run(reads_kernel(type, lanes, static_cast<int64_t>(n), space), data);
    for (int r = 0; r < kReads; ++r) {
      const auto got = numbers_in<float>(data[static_cast<size_t>(2 + r)]);
      for (size_t i = 0; i < n; ++i) {
        const double expected = read_at(static_cast<ReadForm>(r), x, at, lanes, i);
        if (r == kComputed && is_rounded_twice(x, i, lanes, got[i], expected)) continue;
        ASSERT_TRUE(agrees(static_cast<double>(got[i]), expected))
            << ir::name_of(type) << " read " << r << " element " << i << ": " << got[i]
            << ", expected " << expected;
      }
    }
  }

  // A product that is rounded by itself, or of which a device flushes a number.
  static bool is_rounded_twice(const std::vector<double>& x, size_t i, int lanes, float got,
                               double expected) {
    const size_t first = i - i % static_cast<size_t>(lanes);
    const auto a = static_cast<float>(x[i]), b = static_cast<float>(x[first]);
    const float product = a * b;
    return agrees(static_cast<double>(got), static_cast<double>(product + a)) || is_tiny(x[i]) ||
           is_tiny(x[first]) || is_tiny(expected) || is_tiny(static_cast<double>(product));
  }

  void check_writes(DType type, int lanes, size_t n) {
    const Elements elements(type);
    const Bits bits = codes_of(elements, n);
    const std::vector<double> w = numbers_of(elements, bits);
    const std::vector<float> v = elements.to_store(rng_, n);
    uint16_t untouched = 0;
    while (elements.number(untouched) != elements.nearest(kUntouched)) ++untouched;
    std::vector<Bytes> data = {bytes_of(v), elements_of(type, bits)};
    for (int o = 0; o < kWrites; ++o)
      data.push_back(o == kBack ? bytes_of(std::vector<float>(n, kUntouched))
                                : elements_of(type, Bits(o == kScattered ? 2 * n : n, untouched)));
    run(writes_kernel(type, lanes, static_cast<int64_t>(n)), data);
    for (int o = 0; o < kWrites; ++o) {
      const Bytes& out = data[static_cast<size_t>(2 + o)];
      std::vector<double> got;
      if (o == kBack)
        for (const float f : numbers_in<float>(out)) got.push_back(static_cast<double>(f));
      else
        got = numbers_of(elements, bits_in(type, out));
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_TRUE(
            agrees(got[i], written_at(static_cast<WriteForm>(o), elements, v, w, lanes, i)) ||
            is_flushed_sum(static_cast<WriteForm>(o), v, w, i))
            << ir::name_of(type) << " write " << o << " element " << i << ": " << got[i]
            << ", expected " << written_at(static_cast<WriteForm>(o), elements, v, w, lanes, i);
    }
  }

  Host host_;
  std::mt19937 rng_{12};
};

TEST_P(NarrowStorage, every_element_is_loaded) {
  for (const DType type : types()) check_reads(type, kLanes, kAll16);
}

TEST_P(NarrowStorage, the_nearest_element_is_stored) {
  for (const DType type : types()) check_writes(type, kLanes, kAll16);
}

// Vectors of two to eight lanes, which threads do not have.
TEST_P(NarrowStorage, short_vectors) {
  if (GetParam()) GTEST_SKIP() << "threads have one lane each";
  for (const DType type : types())
    for (const int lanes : {2, 4, 8}) {
      check_reads(type, lanes, 1023);
      check_writes(type, lanes, 1023);
    }
}

TEST_P(NarrowStorage, positions) {
  const std::vector<double> given = {0, -1, 6.5, 7, -8, 2};
  for (const DType type : {DType::f16, DType::bf16}) {
    const Elements elements(type);
    Bits p;
    for (const double v : given)
      for (int bits = 0; bits < 65536; ++bits)
        if (elements.number(static_cast<uint16_t>(bits)) == v && (v != 0 || bits == 0))
          p.push_back(static_cast<uint16_t>(bits));
    ASSERT_EQ(p.size(), given.size());
    std::vector<Bytes> data = {bytes_of(p),
                               bytes_of(std::vector<float>{10, 11, 12, 13, 14, 15, 16}),
                               bytes_of(std::vector<float>(6, kUntouched))};
    run(positions_kernel(type, 6, 7), data);
    EXPECT_EQ(numbers_in<float>(data[2]), (std::vector<float>{10, 16, 16, -1, -1, 12}));
  }
}

TEST_P(NarrowStorage, constants) {
  if (host_.device().info().fact("constant_memory").empty() || host_.device().info().simulated)
    GTEST_SKIP() << "it has none of its own";
  host_.options().one_by_one = true;
  for (const DType type : {DType::f16, DType::bf16})
    check_reads(type, kLanes, 997, Space::constant);
}

// Beside arithmetic in the type itself, f16 has another spelling.
TEST_P(NarrowStorage, beside_arithmetic) {
  const DeviceInfo& info = host_.device().info();
  if ((" " + info.fact("types") + " ").find(" f16 ") == std::string::npos || info.simulated)
    GTEST_SKIP() << "no arithmetic on f16 there";
  const Elements elements(DType::f16);
  constexpr size_t kN = 65536;
  const Bits bits = all_elements(kN);
  const std::vector<float> v = elements.to_store(rng_, kN);
  Kernel k;
  k.name = "beside";
  k.buffers = {of_type(input("x", kN), DType::f16), input("v", kN), output("wide", kN),
               of_type(output("near", kN), DType::f16), of_type(output("negated", kN), DType::f16)};
  k.index_names = {"group"};
  k.groups = kN / kLanes;
  const Index at = group_of(kLanes);
  Value narrow = load(0, at, kLanes);
  narrow.dtype = DType::f16;
  k.body = {store(2, at, load(0, at, kLanes)), store(3, at, load(1, at, kLanes)),
            store(4, at, op(ValueOp::neg, {narrow}))};
  std::vector<Bytes> data = {bytes_of(bits), bytes_of(v), Bytes(4 * kN), Bytes(2 * kN),
                             Bytes(2 * kN)};
  run(k, data);
  const auto wide = numbers_in<float>(data[2]);
  const auto near = numbers_in<uint16_t>(data[3]), negated = numbers_in<uint16_t>(data[4]);
  for (size_t i = 0; i < kN; ++i) {
    const double x = elements.number(bits[i]);
    ASSERT_TRUE(agrees(static_cast<double>(wide[i]), x)) << i << ": " << wide[i];
    ASSERT_TRUE(agrees(elements.number(near[i]), elements.nearest(v[i]))) << v[i];
    ASSERT_TRUE(std::abs(x) < 0x1p-14 || agrees(elements.number(negated[i]), -x)) << x;
  }
}

// What a device neither stores nor computes in is an error that names it.
TEST_P(NarrowStorage, arithmetic_needs_more_than_storage) {
  const DeviceInfo& info = host_.device().info();
  if (info.simulated || (" " + info.fact("types") + " ").find(" bf16 ") != std::string::npos)
    GTEST_SKIP() << "it computes in bf16";
  const auto loaded =
      host_.device().load(std::vector{ternary("sum", ValueOp::add, DType::bf16, kLanes, 64)},
                          GetParam() ? lanes_are_threads(16) : hwdesc::Target{}, host_.options());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(render(loaded.diags()), HasSubstr("bf16"));
}

// Buffers need the fact `stores`, arithmetic the fact `types`.
TEST(NarrowStorageFacts, storage_and_arithmetic_are_two_facts) {
  const auto refusal = [](const char* types, const char* stores, const Kernel& k) {
    DeviceInfo info;
    info.id = "made:0";
    info.facts = {{"types", types}, {"stores", stores}};
    return render(check_types(info, std::vector{k}));
  };
  const Kernel sum = ternary("sum", ValueOp::add, DType::f16, 16, 64);
  for (const Kernel& k : {reads_kernel(DType::f16, 16, 64), writes_kernel(DType::f16, 16, 64)}) {
    EXPECT_EQ(refusal("dot", "f16 bf16", k), "");
    EXPECT_THAT(refusal("dot", "bf16", k), HasSubstr("loads or stores f16, which made:0 does not"));
  }
  EXPECT_THAT(refusal("dot", "f16 bf16", sum),
              HasSubstr("kernel 'sum' computes with f16, which made:0 does not"));
  EXPECT_EQ(refusal("f16 dot", "f16 bf16", sum), "");
  EXPECT_THAT(refusal("f16x2", "f16x2", sum), HasSubstr("f16"));
}

INSTANTIATE_TEST_SUITE_P(Lanes, NarrowStorage, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "threads" : "vectors"; });

}  // namespace
}  // namespace assay::runtime
