// The identity of a profile depends on its content, not on how its file is written.
#include "hwdesc/canonical.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "hwdesc/library.h"
#include "hwdesc/print.h"
#include "support/yaml.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

Profile read(const std::string& text) {
  const auto p = parse_profile(text, "p.yaml", no_library);
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : render(p.diags())) << text;
  return p.ok() ? *p : Profile{};
}

TEST(Canonical, spaces_comments_quotes_and_units_do_not_matter) {
  const std::string other =
      "# the same chip, written by somebody else\n"
      "memory:\n"
      "- per: 'unit'\n"
      "  name: l1\n"
      "  capacity:    32768 B   # 32 KiB\n"
      "  latency: {value: 5 cycles@core}\n"
      "- {bandwidth: {write: {note: not tried, value: unknown}, read: 50000 MB/s}, managed: "
      "explicit, per: device,\n"
      "   latency: {ref: ds, source: measured, n: 30, high: 0.11 us, low: 80 ns, value: 9e1 ns}, "
      "name: dram}\n"
      "compute: [{latency: 4 cycles@core, pipe: fma, dtype: f32, op: fma}]\n"
      "pipes: [{rate: 16 /cycle@core, per: unit, name: \"fma\"}]\n"
      "topology:\n\n  - count: 4\n    name: unit\n"
      "clocks: {core: {max: 2000 MHz}}\n"
      "references:\n  ds: >-\n    a\n    datasheet\n"
      "source: measured\n"
      "name: small\n"
      "schema: assay/profile/1\n";
  const Profile a = read(small_profile()), b = read(other);
  EXPECT_EQ(a, b);
  EXPECT_EQ(print_profile(a), print_profile(b));
  EXPECT_EQ(hash_of(a), hash_of(b));
}

TEST(Canonical, what_is_said_does_matter) {
  const std::string hash = hash_of(read(small_profile()));
  EXPECT_NE(hash, hash_of(read(varied("32 KiB", "32 kB"))));
  EXPECT_NE(hash, hash_of(read(varied("note: not tried", "note: tried"))));
  EXPECT_NE(hash, hash_of(read(varied("source: measured", "source: paper"))));
}

// Entries of maps and keyed lists may be in any order, but those of memory and topology may not.
void shuffle(yaml::Node& node, const std::string& key) {
  const auto swap_some = [](auto& list) {
    for (size_t i = 0; i + 1 < list.size(); ++i)
      std::swap(list[i], list[*rc::gen::inRange<size_t>(i, list.size())]);
  };
  const bool ordered = key == "memory" || key == "topology" || key == "through" || key == "forms";
  if (!ordered) swap_some(node.items);
  swap_some(node.entries);
  for (yaml::Node& item : node.items) shuffle(item, "");
  for (yaml::Entry& e : node.entries) shuffle(e.value, e.key);
}

TEST(Canonical, the_order_of_the_file_does_not_matter) {
  for (const LibraryEntry& e : library()) {
    if (e.kind != LibraryKind::profile) continue;
    const auto p = load_from_library(e.name);
    ASSERT_TRUE(p.ok());
    const auto tree = yaml::parse(print_profile(*p), "p.yaml");
    ASSERT_TRUE(tree.ok());
    EXPECT_TRUE(rc::check(std::string(e.name) + " in any order has the same bytes", [&] {
      yaml::Node root = tree->root;
      shuffle(root, "");
      const auto again = parse_profile(yaml::print(root, *rc::gen::inRange<size_t>(20, 200)),
                                       "p.yaml", no_library);
      RC_ASSERT(again.ok());
      RC_ASSERT(print_profile(*again) == print_profile(*p));
      RC_ASSERT(hash_of(*again) == hash_of(*p));
    }));
  }
}

TEST(Canonical, the_order_of_memories_and_levels_stays) {
  const Profile p = read(varied("topology: [{name: unit, count: 4}]",
                                "topology: [{name: unit, count: 4}, {name: partition, count: 2}]"));
  EXPECT_EQ(p.topology[0].name, "unit");
  EXPECT_EQ(p.memory[0].name, "l1");
  EXPECT_EQ(canonical(canonical(p)), canonical(p));
}

}  // namespace
}  // namespace assay::hwdesc
