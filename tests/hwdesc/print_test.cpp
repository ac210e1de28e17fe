// Printing: a golden text, and random profiles round-trip.
#include "hwdesc/print.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "hwdesc/canonical.h"
#include "hwdesc/fields.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

TEST(Print, a_small_profile) {
  const auto p = parse_profile(small_profile(), "p.yaml", no_library);
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(
      print_profile(*p),
      "schema: assay/profile/1\n"
      "name: small\n"
      "source: measured\n"
      "references:\n"
      "  ds: a datasheet\n"
      "clocks:\n"
      "  core: 2 GHz\n"
      "topology:\n"
      "  - {name: unit, count: 4}\n"
      "pipes:\n"
      "  - {name: fma, per: unit, rate: 16 /cycle@core}\n"
      "memory:\n"
      "  - {name: l1, per: unit, managed: automatic, capacity: 32 KiB, latency: 5 cycles@core}\n"
      "  - name: dram\n"
      "    per: device\n"
      "    managed: explicit\n"
      "    latency: {value: 90 ns, low: 80 ns, high: 110 ns, n: 30, source: measured, ref: ds}\n"
      "    bandwidth: {read: 50 GB/s, write: {value: unknown, note: not tried}}\n"
      "compute:\n"
      "  - {op: fma, dtype: f32, pipe: fma, latency: 4 cycles@core}\n");
}

// Fills every field with random values; not a sensible chip.
class Fill {  // visitor
 public:
  template <class M>
  void operator()(const char*, M& member, const char*, Need) {
    fill(member);
  }
  template <class F>
  void group(const char*, const char*, F&& inner) {
    inner(*this);
  }

 private:
  static bool often() { return *rc::gen::inRange(0, 3) > 0; }
  static std::string text() {
    return *rc::gen::container<std::string>(rc::gen::inRange<char>(32, 126));
  }

  template <class Q>
  Q quantity() {
    Q q{};
    q.v = *rc::gen::map<int>([](int n) { return n / 7.0; });
    if constexpr (Clocked<Q>)
      if (often()) q.clock = "core";
    return q;
  }

  template <class Q>
  void fill(Value<Q>& v) {
    if (often()) v.value = quantity<Q>();
    if (!often()) v.low = quantity<Q>();
    if (!often()) v.high = quantity<Q>();
    if (!often()) v.n = *rc::gen::inRange<int64_t>(0, 1000);
    if (!often()) v.source = Origin::fitted;
    if (!often()) v.note = text();
    if (!often()) v.method = text();
  }

  template <class M>
  void fill(M& member) {
    if constexpr (AWord<M>)
      member = text();
    else if constexpr (ANumber<M>)
      member = *rc::gen::inRange(0, 1000);
    else if constexpr (AChoice<M>)
      member = static_cast<M>(*rc::gen::inRange(0, 2));
    else if constexpr (APart<M>)
      fields(*this, member);
    else
      fill_list(member);
  }

  template <class M>
  void fill_list(M& list) {
    const int n = *rc::gen::inRange(0, 3);
    for (int i = 0; i < n; ++i) {
      list.emplace_back();
      const std::string key = "k" + std::to_string(i);
      if constexpr (WordList<M>)
        list.back() = text();
      else if constexpr (requires { list.back().first; }) {
        list.back().first = key;
        fill(list.back().second);
      } else {
        fields(*this, list.back());
        name(list.back(), i);
      }
    }
  }

  template <class T>
  static void name(T& entry, int i) {
    const std::string key = "k" + std::to_string(i);
    if constexpr (requires { entry.name; })
      entry.name = key;
    else if constexpr (requires { entry.use; })
      entry.use = key;
    else if constexpr (requires { entry.depth; })
      entry.depth = i;
    else if constexpr (requires { entry.reaches; })
      entry.units.value = Ratio{0.25 * (i + 1)};
    else if constexpr (requires { entry.groups; })
      entry.groups.value = Count{4.0 * (i + 1)};
    else if constexpr (requires { entry.threads; })
      entry.threads.value = Count{32.0 * (i + 1)};
    else
      entry.op = key;
  }
};

TEST(Print, every_profile_comes_back) {
  EXPECT_TRUE(rc::check("parse(print(p)) == canonical(p), and print is a fixed point", [] {
    Profile p;
    Fill fill;
    fields(fill, p);
    const std::string text = print_profile(p);
    const auto again = parse_profile(text, "p.yaml", no_library, {.consistent = false});
    if (!again.ok()) RC_LOG() << text << render(again.diags());
    RC_ASSERT(again.ok());
    if (!(*again == canonical(p))) RC_LOG() << text;
    RC_ASSERT(*again == canonical(p));
    RC_ASSERT(print_profile(*again) == text);
    RC_ASSERT(hash_of(*again) == hash_of(p));
  }));
}

}  // namespace
}  // namespace assay::hwdesc
