// Reading profiles: what is accepted, and the whole text of errors.
#include "hwdesc/parse.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "hwdesc/check.h"
#include "hwdesc/print.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

TEST(Parse, a_border_is_a_word_or_says_how_it_was_found) {
  const auto border_in = [](const std::string& text) {
    return parse_profile(
        "schema: assay/profile/1\nname: x\npaths: [{name: texture, border: " + text + "}]\n",
        "p.yaml", no_library);
  };
  EXPECT_EQ(border_in("clamp")->paths[0].border, (ImageBorder{Border::clamp, "", ""}));
  EXPECT_EQ(border_in("{gives: zero, method: read, note: of one}")->paths[0].border,
            (ImageBorder{Border::zero, "read", "of one"}));
  EXPECT_NE(print_profile(*border_in("clamp")).find("border: clamp"), std::string::npos);
  EXPECT_NE(render(border_in("transparent").diags()).find("write zero"), std::string::npos);
}

TEST(Parse, a_small_profile) {
  const auto p = parse_profile(small_profile(), "p.yaml", no_library);
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_EQ(p->clocks[0].max.value->v, 2e9);
  EXPECT_EQ(p->memory[1].latency.low->v, 80e-9);
  EXPECT_EQ(p->memory[1].latency.n, 30);
  EXPECT_FALSE(p->memory[1].bandwidth.write.known());
  EXPECT_EQ(p->memory[1].bandwidth.write.note, "not tried");
  EXPECT_EQ(p->memory[1].managed, Managed::explicit_);
  EXPECT_EQ(render(check(*p)), "");
}

TEST(Parse, unknown_key) {
  EXPECT_EQ(complaints(varied("capacity: 32", "capcity: 32")),
            "p.yaml:10:27: error: memory.l1: unknown key 'capcity'\n"
            "    - {name: l1, per: unit, capcity: 32 KiB, latency: 5 cycles@core}\n"
            "                            ^\n"
            "hint: did you mean 'capacity'?\n");
}

TEST(Parse, wrong_unit) {
  EXPECT_EQ(complaints(varied("32 KiB", "32 KB")),
            "p.yaml:10:40: error: memory.l1.capacity: unknown unit 'KB'\n"
            "    - {name: l1, per: unit, capacity: 32 KB, latency: 5 cycles@core}\n"
            "                                         ^\n"
            "hint: kB is 1000 B, KiB is 1024 B\n");
}

TEST(Parse, level_that_is_not_declared) {
  EXPECT_EQ(complaints(varied("name: l1, per: unit", "name: l1, per: unti")),
            "p.yaml:10:21: error: memory.l1.per: 'unti' is not a level of topology\n"
            "    - {name: l1, per: unti, capacity: 32 KiB, latency: 5 cycles@core}\n"
            "                      ^\n"
            "hint: did you mean 'unit'?\n");
}

TEST(Parse, many_faults_at_once) {
  const std::string text = complaints(
      "schema: assay/profile/2\n"
      "nme: x\n"
      "topology: [{name: sm, count: -4}]\n"
      "pipes: [{name: fma, rate: 16 /cycle}]\n"
      "memory: {l1: {}}\n");
  EXPECT_EQ(text,
            "p.yaml:1:9: error: schema: 'assay/profile/2' is not known\n"
            "  schema: assay/profile/2\n"
            "          ^\n"
            "hint: this reads assay/profile/1\n"
            "p.yaml:1:1: error: `name` is missing\n"
            "  schema: assay/profile/2\n"
            "  ^\n"
            "hint: name: of this profile; lower case, words joined by -\n"
            "p.yaml:4:9: error: pipes.fma: `per` is missing\n"
            "  pipes: [{name: fma, rate: 16 /cycle}]\n"
            "          ^\n"
            "hint: per: topology level that has one\n"
            "p.yaml:4:30: error: pipes.fma.rate: '/cycle' does not say of which clock\n"
            "  pipes: [{name: fma, rate: 16 /cycle}]\n"
            "                               ^\n"
            "hint: write /cycle@core, or another name of `clocks`\n"
            "p.yaml:5:9: error: memory: a list is expected, not a map\n"
            "  memory: {l1: {}}\n"
            "          ^\n"
            "p.yaml:2:1: error: unknown key 'nme'\n"
            "  nme: x\n"
            "  ^\n"
            "hint: did you mean 'name'?\n");
}

struct Case {
  const char* from;
  const char* to;
  const char* place_and_message;
};

TEST(Parse, inconsistent_profiles_are_refused_with_their_place) {
  const Case cases[] = {
      {"32 KiB", "0 B", "p.yaml:10:37: error: memory.l1.capacity: 0 B is no value\n"},
      {"count: 4", "count: -4", "p.yaml:6:32: error: topology.unit.count: -4 is negative\n"},
      {"16 /cycle@core", "16 /cycle@cor",
       "p.yaml:8:34: error: pipes.fma.rate: 'cor' is not one of clocks\n"},
      {"pipe: fma", "pipe: fna",
       "p.yaml:17:33: error: compute.fma.f32.pipe: 'fna' is not one of pipes\n"},
      {"ref: ds}", "ref: dx}",
       "p.yaml:14:14: error: memory.dram.latency: 'dx' is not one of references\n"},
      {"low: 80 ns", "low: 95 ns",
       "p.yaml:14:14: error: memory.dram.latency: low 95 ns is above the value 90 ns\n"},
      {"high: 110 ns", "high: 9 cycles@core",
       "p.yaml:14:14: error: memory.dram.latency: value and interval are counted by different "
       "clocks\n"},
      {"{value: 90 ns, low: 80 ns, high: 110 ns, n: 30, source: measured, ref: ds}",
       "300 cycles@core",
       "p.yaml:14:14: error: memory.dram.latency: far memory does not tick with 'core'\n"},
      {"name: unit, count: 4", "name: sm, count: 4",
       "p.yaml:6:11: error: topology: no level is called unit\n"},
      {"managed: explicit", "backed_by: dran",
       "p.yaml:13:16: error: memory.dram.backed_by: 'dran' is not one of memory\n"},
      {"name: l1,", "name: dram,", "p.yaml:11:5: error: memory: duplicate entry 'dram'\n"},
      {"name: l1,", "name: l 1,", "p.yaml:10:5: error: memory.l 1: 'l 1' is not a name\n"},
      {"source: measured\n", "source: guessed\n",
       "p.yaml:3:9: error: source: 'guessed' is not expected\n"},
      {"n: 30", "n: 3.5",
       "p.yaml:14:58: error: memory.dram.latency.n: '3.5' is not a whole number"},
      {"90 ns", "nan", "p.yaml:14:22: error: memory.dram.latency.value: 'nan' is not a latency\n"},
      {"90 ns", "1e999 ns",
       "p.yaml:14:22: error: memory.dram.latency.value: '1e999' is out of range\n"},
      {"value: 90 ns, ", "", "p.yaml:14:14: error: memory.dram.latency: `value` is missing\n"},
      {"note: not tried", "nota: not tried",
       "p.yaml:15:56: error: memory.dram.bandwidth.write: unknown key 'nota'\n"},
      {"core: 2 GHz", "core: {max: [2 GHz]}",
       "p.yaml:5:22: error: clocks.core.max: a frequency is expected, not a list\n"},
      {"dtype: f32, pipe", "dtype: f32, mode: wave64, pipe",
       "error: compute.fma.f32.wave64.mode: 'wave64' is not one of execution.lanes.modes\n"},
      {"name: l1, per", "name: l1, path: texture, per",
       "error: memory.l1.path: 'texture' is not one of paths\n"},
      {"read: 50 GB/s", "shape: [{units: 0.5, reaches: 1.5}]",
       "error: memory.dram.bandwidth.shape.0.5: 1.5 is more than the whole\n"},
      {"capacity: 32 KiB", "overlap: 1.5",
       "error: memory.l1.overlap: 1.5 is more than the whole\n"},
      {"read: 50 GB/s", "shape: [{units: 1, reaches: 0.5}, {units: 0.5, reaches: 0.8}]",
       "error: memory.dram.bandwidth.shape.1: more units reach less\n"},
      {"capacity: 32 KiB", "cyclic_scan: {from: 32 KiB, middle: 24 KiB, to: 64 KiB}",
       "error: memory.l1.cyclic_scan: does not rise"},
      {"capacity: 32 KiB", "cyclic_scan: {from: 32 KiB, to: 24 KiB}",
       "error: memory.l1.cyclic_scan: does not rise"},
      {"pipes:\n", "execution: {lanes: {modes: [{name: w, registers: {count: 8}}]}}\npipes:\n",
       "error: execution.lanes.modes.w.registers: `per` is missing\n"},
      {"managed: explicit",
       "managed: ", "p.yaml:13:5: error: memory.dram.managed: a word is expected, not nothing\n"},
      {"managed: explicit", "managed: !!str explicit", "unknown tag"},
      {"managed: explicit", "managed: !x explicit", "p.yaml:13:14: error: unknown tag '!x'\n"},
  };
  for (const Case& c : cases) {
    const std::string text = complaints(varied(c.from, c.to));
    EXPECT_NE(text.find(c.place_and_message), std::string::npos)
        << c.from << " -> " << c.to << "\nexpected " << c.place_and_message << "\ngot\n"
        << text;
  }
}

TEST(Parse, implausible_memories_are_warned_of) {
  const auto p = parse_profile(
      varied(
          "  - name: dram",
          "  - {name: l2, per: device, capacity: 16 KiB, latency: 3 cycles@core}\n  - name: dram"),
      "p.yaml", no_library);
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_EQ(render(check(*p)),
            "warning: memory.l2.latency: shorter than that of 'l1', which is listed nearer\n"
            "hint: memory is listed near to far\n"
            "warning: memory.l2.capacity: smaller than that of 'l1', which is listed nearer\n"
            "hint: memory is listed near to far\n");
  const auto line = parse_profile(varied("capacity: 32 KiB", "capacity: 32 KiB, line: 7 B"),
                                  "p.yaml", no_library);
  ASSERT_TRUE(line.ok()) << render(line.diags());
  EXPECT_EQ(render(check(*line)), "warning: memory.l1.line: 7 B is no power of two\n");
  const auto toaster =
      parse_profile(varied("name: small", "name: small\nclass: toaster"), "p.yaml", no_library);
  ASSERT_TRUE(toaster.ok()) << render(toaster.diags());
  EXPECT_EQ(
      render(check(*toaster)),
      "warning: class: 'toaster' is no class of chips\nhint: one of: cpu, gpu, mobile_gpu, npu\n");
}

TEST(Parse, what_predicting_needs_is_a_separate_question) {
  const auto p = parse_profile("schema: assay/profile/1\nname: bare\n", "p.yaml", no_library);
  ASSERT_TRUE(p.ok()) << render(p.diags());
  EXPECT_EQ(missing_for_prediction(*p).size(), 4u);
}

TEST(Parse, hostile_text_is_refused_quickly) {
  EXPECT_NE(complaints(""), "");
  EXPECT_NE(complaints("- 1\n").find("a profile: a map is expected, not a list"),
            std::string::npos);
  EXPECT_NE(complaints(std::string(100000, '{')), "");
  EXPECT_NE(complaints(std::string(kMaxProfileBytes + 1, '#')).find("a profile is at most 4 MiB"),
            std::string::npos);
  std::string keys = small_profile();
  for (int i = 0; i < 20000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_NE(complaints(keys).find("too many errors"), std::string::npos);
  std::string entries = "schema: assay/profile/1\nname: x\ntlb:\n";
  for (int i = 0; i < 20000; ++i) entries += "  - {depth: " + std::to_string(i) + "}\n";
  EXPECT_NE(complaints(entries).find("tlb: too many entries"), std::string::npos);
}

TEST(Parse, a_profile_cut_anywhere_is_read_or_refused) {
  const std::string whole = small_profile();
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto p = parse_profile(whole.substr(0, n), "p.yaml", no_library);
    if (!p.ok()) {
      EXPECT_TRUE(has_error(p.diags()));
    }
  }
}

TEST(Parse, a_profile_with_any_byte_changed_is_read_or_refused) {
  EXPECT_TRUE(rc::check("no change of a byte crashes the reader", [](size_t at, char byte) {
    std::string text = small_profile();
    text[at % text.size()] = byte;
    const auto p = parse_profile(text, "p.yaml", no_library);
    const bool answered = p.ok() || has_error(p.diags());
    RC_ASSERT(answered);
  }));
}

TEST(Parse, AnEnergyOfNothingInTheProfileIsRefused) {
  const auto with = [](const std::string& event) {
    return parse_profile(
        "schema: assay/profile/1\nname: x\nsource: assumed\n"
        "clocks: {core: 1 GHz}\ntopology: [{name: unit, count: 1}]\n"
        "pipes: [{name: fma, per: unit, rate: 8 /cycle@core}]\n"
        "memory:\n  - {name: dram, per: device, managed: explicit, capacity: 1 GiB}\n"
        "compute: [{op: fma, dtype: f32, pipe: fma}]\n"
        "power: {cap: 10 W, energy: {" +
            event + ": 1 pJ}}\n",
        "x.yaml", no_library);
  };
  EXPECT_TRUE(with("dram").ok()) << render(with("dram").diags());
  EXPECT_TRUE(with("fma.f32").ok());
  for (const char* event : {"hbm", "fma.f16", "fma"}) {
    ASSERT_FALSE(with(event).ok()) << event;
    EXPECT_NE(render(with(event).diags()).find("power.energy"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::hwdesc
