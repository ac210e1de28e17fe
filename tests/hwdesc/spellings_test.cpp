// Names of other tools are refused with this format's name as hint.
#include "hwdesc/spellings.h"

#include <gtest/gtest.h>

#include "hwdesc/check.h"
#include "tests/hwdesc/small.h"

namespace assay::hwdesc {
namespace {

TEST(Spellings, the_whole_message) {
  EXPECT_EQ(complaints(varied("capacity: 32 KiB", "size: 32 KiB")),
            "p.yaml:10:27: error: memory.l1: unknown key 'size'\n"
            "    - {name: l1, per: unit, size: 32 KiB, latency: 5 cycles@core}\n"
            "                            ^\n"
            "hint: write capacity\n");
}

struct Case {
  const char* from;
  const char* to;
  const char* message;  // begins the complaint
  const char* hint;
};

TEST(Spellings, earlier_names_are_refused_with_the_new_one) {
  const Case cases[] = {
      {"capacity: 32 KiB", "streamed: {to: 32 KiB}", "memory.l1: unknown key 'streamed'",
       "write cyclic_scan\n"},
      {"capacity: 32 KiB", "passed: {to: 32 KiB}", "memory.l1: unknown key 'passed'",
       "write single_use_retention\n"},
      {"capacity: 32 KiB", "kept: {to: 32 KiB}", "memory.l1: unknown key 'kept'",
       "write reuse_retention\n"},
      {"capacity: 32 KiB", "loaded: {half: 9 ns}", "memory.l1: unknown key 'loaded'",
       "write loaded_latency\n"},
      {"capacity: 32 KiB", "set_turn: 9 ns", "memory.l1: unknown key 'set_turn'",
       "write set_conflict\n"},
      {"capacity: 32 KiB", "set_turn_changed: 9 ns", "memory.l1: unknown key 'set_turn_changed'",
       "write set_conflict_dirty\n"},
      {"capacity: 32 KiB", "foreign_fill: 1 GB/s", "memory.l1: unknown key 'foreign_fill'",
       "write co_tenant_eviction\n"},
      {"capacity: 32 KiB", "page_lines: 8", "memory.l1: unknown key 'page_lines'",
       "write page_stride_lines\n"},
      {"read: 50 GB/s", "handed: 50 GB/s", "memory.dram.bandwidth: unknown key 'handed'",
       "write dirty_remote_read\n"},
      {"read: 50 GB/s", "taken: 50 GB/s", "memory.dram.bandwidth: unknown key 'taken'",
       "write dirty_remote_rfo\n"},
      {"read: 50 GB/s", "reclaimed: 50 GB/s", "memory.dram.bandwidth: unknown key 'reclaimed'",
       "write upgrade\n"},
      {"read: 50 GB/s", "apart_read: 50 GB/s", "memory.dram.bandwidth: unknown key 'apart_read'",
       "write short_run_read\n"},
      {"read: 50 GB/s", "apart_write: 50 GB/s", "memory.dram.bandwidth: unknown key 'apart_write'",
       "write short_run_write\n"},
      {"name: small\n", "name: small\ntlb: [{passing: 9 ns}]\n", "unknown key 'passing'",
       "write overlapped_miss\n"},
      {"name: small\n", "name: small\napis: {cpp: {dialect: cpp, unit_join: 1 us}}\n",
       "unknown key 'unit_join'", "write wakeup_skew\n"},
      {"name: small\n", "name: small\napis: {cpp: {dialect: cpp, joined_lanes: 4}}\n",
       "unknown key 'joined_lanes'", "write slp_lanes\n"},
      {"name: small\n", "name: small\napis: {cpp: {dialect: cpp, joined_loads: 4}}\n",
       "unknown key 'joined_loads'", "write merged_loads\n"},
  };
  for (const Case& c : cases) {
    const std::string text = complaints(varied(c.from, c.to));
    EXPECT_NE(text.find(c.message), std::string::npos) << c.to << "\n" << text;
    EXPECT_NE(text.find(c.hint), std::string::npos) << c.to << "\n" << text;
  }
}

TEST(Spellings, foreign_keys_and_words_are_refused_with_the_right_one) {
  const Case cases[] = {
      {"name: small\n", "name: small\nwarp_size: 32\n", "unknown key 'warp_size'",
       "execution: {lanes: {modes: [{width: 32}]}}"},
      {"name: small\n", "name: small\nsm_count: 108\n", "unknown key 'sm_count'",
       "topology: [{name: unit, count: 108}]"},
      {"name: small\n", "name: small\nl1_size: 32 KiB\n", "unknown key 'l1_size'",
       "an entry of memory"},
      {"name: small\n", "name: small\nsharedMemPerSM: 48 KiB\n", "unknown key 'sharedMemPerSM'",
       "managed: explicit"},
      {"name: small\n", "name: small\nfreq: 2 GHz\n", "unknown key 'freq'", "clocks: {core: {max:"},
      {"name: small\n", "name: small\nmem_bw: 2 GB/s\n", "unknown key 'mem_bw'",
       "bandwidth: {read:"},
      {"name: small\n", "name: small\ntflops: 19.5\n", "unknown key 'tflops'",
       "pipes: [{name: fma"},
      {"name: small\n", "name: small\nversion: 1\n", "unknown key 'version'",
       "schema: assay/profile/1"},
      {"core: 2 GHz", "core: {boost: 2 GHz}", "clocks.core: unknown key 'boost'", "write max\n"},
      {"unit, count: 4", "unit, number: 4", "topology.unit: unknown key 'number'", "write count\n"},
      {"rate: 16 /cycle@core", "throughput: 16 /cycle@core", "pipes.fma: unknown key 'throughput'",
       "write rate"},
      {"capacity: 32 KiB", "associativity: 8", "memory.l1: unknown key 'associativity'",
       "write ways\n"},
      {"capacity: 32 KiB", "lineSize: 64 B", "memory.l1: unknown key 'lineSize'", "write line\n"},
      {"read: 50 GB/s", "load: 50 GB/s", "memory.dram.bandwidth: unknown key 'load'",
       "write read\n"},
      {"low: 80 ns", "min: 80 ns", "memory.dram.latency: unknown key 'min'", "write low\n"},
      {"n: 30", "samples: 30", "memory.dram.latency: unknown key 'samples'", "write n\n"},
      {"ref: ds", "reference: ds", "memory.dram.latency: unknown key 'reference'", "write ref"},
      {"capacity: 32 KiB", "cyclic_scan: {half: 32 KiB}",
       "memory.l1.cyclic_scan: unknown key 'half'", "write middle\n"},
      {"dtype: f32", "type: f32", "compute.fma: unknown key 'type'", "write dtype\n"},
      {"dtype: f32", "dtype: fp32", "compute.fma.fp32.dtype: 'fp32' has another name here",
       "write f32\n"},
      {"op: fma", "op: ffma", "compute.ffma.f32.op: 'ffma' has another name here", "write fma\n"},
      {"managed: explicit", "managed: scratchpad",
       "memory.dram.managed: 'scratchpad' is not expected", "write explicit\n"},
      {"source: measured\n", "source: spec\n", "source: 'spec' is not expected",
       "write datasheet\n"},
      {"capacity: 32 KiB", "write: writeback", "memory.l1.write: 'writeback' is not expected",
       "write allocate\n"},
  };
  for (const Case& c : cases) {
    const std::string text = complaints(varied(c.from, c.to));
    EXPECT_NE(text.find(c.message), std::string::npos) << c.to << "\n" << text;
    const size_t hint = text.find("hint: ", text.find(c.message));
    ASSERT_NE(hint, std::string::npos) << c.to << "\n" << text;
    EXPECT_NE(text.substr(hint, text.find('\n', hint) + 1 - hint).find(c.hint), std::string::npos)
        << c.to << "\n"
        << text;
  }
}

// A unit of the wrong kind gives the right unit as hint.
TEST(Spellings, foreign_units) {
  const Case cases[] = {
      {"50 GB/s", "50 GBps", "unknown unit 'GBps'", "GB/s"},
      {"50 GB/s", "400 Gbps", "unknown unit 'Gbps'", "a byte is 8 bits"},
      {"50 GB/s", "64 B/clk", "unknown unit 'B/clk'", "B/cycle@core"},
      {"16 /cycle@core", "16 FLOP/cycle", "unknown unit 'FLOP/cycle'", "/cycle@core"},
      {"5 cycles@core", "5 clk", "unknown unit 'clk'", "cycles@core"},
      {"5 cycles@core", "5 cycles", "does not say of which clock", "cycles@core"},
      {"32 KiB", "32 K", "unknown unit 'K'", "KiB"},
      {"32 KiB", "32 Mb", "unknown unit 'Mb'", "a byte is 8 bits"},
  };
  for (const Case& c : cases) {
    const std::string text = complaints(varied(c.from, c.to));
    EXPECT_NE(text.find(c.message), std::string::npos) << c.to << "\n" << text;
    const size_t hint = text.find("hint: ");
    ASSERT_NE(hint, std::string::npos) << c.to << "\n" << text;
    EXPECT_NE(text.find(c.hint, hint), std::string::npos) << c.to << "\n" << text;
  }
}

TEST(Spellings, a_decimal_cache_is_warned_of) {
  const auto p =
      parse_profile(varied("source: measured\n", "source: datasheet\n"), "p.yaml", no_library);
  ASSERT_TRUE(p.ok());
  Profile decimal = *p;
  decimal.memory[0].capacity.value = Bytes{64e6};
  EXPECT_EQ(render(check(decimal)),
            "warning: memory.l1.capacity: 64 MB of on-chip memory is a decimal size\n"
            "hint: is 64 MiB meant? kB is 1000 B, KiB is 1024 B\n");
  decimal.memory[0].capacity.source = Origin::measured;
  EXPECT_EQ(render(check(decimal)), "");
  decimal.memory[0].capacity = {};
  decimal.memory[1].capacity.value = Bytes{40e9};  // DRAM is sold by decimal size too
  EXPECT_EQ(render(check(decimal)), "");
}

// No row may shadow a field of the format.
TEST(Spellings, correct_words_are_not_foreign) {
  for (const char* word : {"f16", "f32", "f64", "bf16", "i8", "i32"})
    EXPECT_EQ(spelling_of_word("dtype", word), "") << word;
  for (const char* word : {"fma", "add", "mul", "div", "load", "store"})
    EXPECT_EQ(spelling_of_word("op", word), "") << word;
}

}  // namespace
}  // namespace assay::hwdesc
