#include "probe/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>

#include "probe/inference/stats.h"
#include "probe/report/drift.h"
#include "probe/report/marks.h"

namespace assay::probe {
namespace {

enum class Show { time, rate, lanes_rate };  // the sample as it is, 1 / sample, lanes / sample

struct Row {
  const char* section;
  const char* title;
  const char* experiments;  // names, separated by blanks
  const char* whats;        // quantities of them; "": all
  const char* x;            // condition; "": the quantity itself, as bars
  const char* split;        // conditions that make series of their own, besides the quantity
  Axis x_axis, y_axis;
  Show show;
  Estimator estimator;
  void (*mark)(const Source&, Chart&);  // may be null
  const char* method;
  bool heat = false;
  bool apart = false;  // the points lie in different levels: no line between them
};

constexpr auto kLatency = Estimator::latency;
constexpr auto kThroughput = Estimator::throughput;

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {"Latency of memory",
       "Latency by footprint",
       "chase knees",
       "chase",
       "bytes",
       "",
       {"footprint", Kind::bytes, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       mark_levels,
       "One unit follows a random cycle through every line of the footprint; each load waits for "
       "the one before it. "
       "The line is the 10 % quantile per footprint, level pieces are the plateaus found, bands "
       "the knees between them."},
      {"Latency of memory",
       "Latency in the middle of each level",
       "latency",
       "chase",
       "bytes",
       "",
       {"footprint", Kind::bytes, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "The same chase at one footprint well inside each level.",
       false,
       true},
      {"Latency of memory",
       "Line: a second touch at a distance",
       "line",
       "pair",
       "distance",
       "",
       {"distance of the two touches", Kind::bytes, true},
       {"time of a pair", Kind::seconds, false},
       Show::time,
       kLatency,
       mark_line,
       "A chase that touches each node twice. Within a line the second touch costs next to "
       "nothing."},
      {"Latency of memory",
       "Address translation",
       "tlb",
       "pages",
       "nodes",
       "stride",
       {"lines touched", Kind::count, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       mark_tlb,
       "The same number of lines close together, one per page, and a page and some apart. Where "
       "the curves part, "
       "translations no longer fit."},
      {"Latency of memory",
       "Rows of a matrix, a line of each",
       "tlb",
       "rows",
       "nodes",
       "stride",
       {"rows", Kind::count, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       mark_rows,
       "A random cycle through one line of each row, for rows of several lengths. Which of them "
       "miss the second buffer of translations depends "
       "on how it chooses its sets. Band: from a tenth to nine tenths of them on average."},
      {"Latency of memory",
       "Pages that loads pass by",
       "tlb",
       "passing",
       "nodes",
       "stride",
       {"loads", Kind::count, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Vector loads that nothing waits for, of one line per page and of lines close together.",
       false,
       true},
      {"Latency of memory",
       "What is moved at once",
       "transfer",
       "pair",
       "distance",
       "level",
       {"distance of the two touches", Kind::bytes, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Pairs of touches, the first of which the level serves. Up to what is moved at once the "
       "second one costs next to nothing."},
      {"Latency of memory",
       "What is kept together",
       "transfer",
       "span",
       "stride",
       "level",
       {"distance of nodes", Kind::bytes, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Nodes in a span half as long again as the first cache. Once they lie more than a line "
       "apart, fewer lines are needed, and they fit."},
      {"Bandwidth",
       "What is kept of what was written",
       "write_policy",
       "",
       "",
       "level",
       {"", Kind::count, false},
       {"time of a pass", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Other memory drives a footprint out of a cache; then it is read, written and read again, "
       "or only some of it. A footprint "
       "that was written and is read as fast as one that was read (written - write against warm - "
       "cold) is kept."},
      {"Bandwidth",
       "Copies between host and device",
       "host",
       "",
       "bytes",
       "",
       {"bytes at once", Kind::bytes, true},
       {"time of a copy", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "Copies to the device and from it, timed by the host. Small ones show what a copy costs at "
       "all, large ones the bandwidth."},
      {"Bandwidth",
       "Vectors within and across lines",
       "transfer",
       "within across",
       "lanes",
       "",
       {"lanes of a vector", Kind::count, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "Vector loads at the beginning of every 128 bytes, and across their end."},
      {"Latency of memory",
       "Lines of one set",
       "ways",
       "lines",
       "lines",
       "stride",
       {"lines", Kind::count, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Chases through a few lines at distances of a power of two, which meet in one set of a "
       "cache. One more than it has ways, and they miss."},
      {"Latency of memory",
       "Lines a page apart",
       "ways",
       "pages",
       "lines",
       "stride",
       {"lines", Kind::count, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Chases through lines 4 KiB apart, which meet in few sets: the time rises where one level "
       "holds no more of them."},
      {"Latency of memory",
       "Lines that meet in a set",
       "ways",
       "turns changed",
       "lines",
       "stride",
       {"lines", Kind::count, true},
       {"time of each", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Vector loads that nothing waits for, of pages' first lines, which share the sets that "
       "pages begin in, and of lines side by side; stores to parts of those first lines.",
       false,
       true},
      {"Latency of memory",
       "Misses side by side",
       "outstanding",
       "chases",
       "chains",
       "level groups",
       {"chases side by side", Kind::count, true},
       {"time of one hop", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Chases that do not wait for each other. The time of a hop falls until no more misses can "
       "be under way, or no more bytes arrive."},
      {"Latency of memory",
       "Latency while others stream",
       "loaded_latency",
       "",
       "slower",
       "",
       {"others reach, all together", Kind::bytes_per_second, false},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       mark_loaded,
       "One group chases, all others stream through the same level, more and more slowly. Where "
       "the curve rises the loads wait for each other."},
      {"Latency of memory",
       "Constants beside plain memory",
       "constant",
       "chase plain",
       "bytes",
       "",
       {"footprint", Kind::bytes, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "The same chase through an argument in the language's constant space and through a plain "
       "one. Where both are alike, constants have no cache of their own."},
      {"Latency of memory",
       "Constants, lanes together and apart",
       "constant",
       "lanes",
       "apart",
       "",
       {"lanes want lines of their own", Kind::count, false},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "All lanes of a wave follow one chase, or each begins at a node of its own."},
      {"Latency of memory",
       "Images beside plain memory",
       "image",
       "chase plain",
       "bytes",
       "",
       {"footprint", Kind::bytes, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "A random cycle through the blocks of an image, and one through the lines of a plain "
       "argument of the same size."},
      {"Latency of memory",
       "Texels fetched together",
       "image",
       "across down",
       "distance",
       "",
       {"texels between two touches", Kind::count, true},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Pairs of touches of an image. Within a block the second one costs next to nothing."},
      {"Bandwidth",
       "Texels of images",
       "image",
       "read read_plain",
       "texel",
       "",
       {"numbers of a texel; 0: plain memory", Kind::count, false},
       {"all groups together", Kind::bytes_per_second, false},
       Show::rate,
       kThroughput,
       nullptr,
       "All groups read the same 16 KiB, again and again."},
      {"Latency of memory",
       "Private or shared",
       "sharing",
       "chase",
       "units",
       "level",
       {"units at once", Kind::count, false},
       {"time of one load", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Each unit chases through its own 0.7 of a cache. What a cache of its own holds stays as "
       "fast with all units."},
      {"Bandwidth",
       "HitCurve again and again, all units",
       "cyclic_scan",
       "read",
       "bytes",
       "",
       {"bytes of each unit", Kind::bytes, true},
       {"read, all units together", Kind::bytes_per_second, true},
       Show::rate,
       kThroughput,
       mark_cyclic_scan,
       "All units read their own part from end to end, over and over. Bands: from 90 % to 10 % "
       "still held by a cache; "
       "the line in one is where half is held."},
      {"Bandwidth",
       "Read for the first time behind a pause, all units",
       "retention",
       "pause",
       "idle",
       "",
       {"pause", Kind::seconds, true},
       {"read, all units together", Kind::bytes_per_second, true},
       Show::rate,
       kThroughput,
       nullptr,
       "All units read what each wrote once, behind a pause in which they only add: others of the "
       "machine bring in what they use meanwhile."},
      {"Bandwidth",
       "Read for the first time behind other data, all units",
       "retention",
       "single_use",
       "bytes",
       "",
       {"bytes of other data", Kind::bytes, true},
       {"read, all units together", Kind::bytes_per_second, true},
       Show::rate,
       kThroughput,
       nullptr,
       "The same behind other data that all units read meanwhile, for the first time too: some "
       "caches keep what was used again and give this up first."},
      {"Bandwidth",
       "Read again behind other data, all units",
       "retention",
       "reused",
       "bytes",
       "",
       {"bytes of other data", Kind::bytes, true},
       {"read, all units together", Kind::bytes_per_second, true},
       Show::rate,
       kThroughput,
       nullptr,
       "The same, of what all units have read and written a few times before."},
      {"Bandwidth",
       "Bandwidth of the caches",
       "bandwidth",
       "",
       "bytes",
       "units",
       {"bytes of each unit", Kind::bytes, true},
       {"all units together", Kind::bytes_per_second, true},
       Show::rate,
       kThroughput,
       nullptr,
       "Streams inside each level, with one unit and with all. Copies count bytes read plus bytes "
       "written. "
       "apart_: runs of 256 bytes, each in a row of its own.",
       false,
       true},
      {"Bandwidth",
       "Far memory against units",
       "far",
       "",
       "units",
       "",
       {"units at once", Kind::count, false},
       {"all units together", Kind::bytes_per_second, false},
       Show::rate,
       kThroughput,
       mark_power_mean,
       "A buffer far beyond the caches, shared out to the units and read chunk by chunk. "
       "_stream: stores that pass the caches."},
      {"Bandwidth",
       "Loads and stores from 16 KiB",
       "access",
       "",
       "lanes",
       "",
       {"lanes of a vector", Kind::count, true},
       {"one unit", Kind::bytes_per_second, true},
       Show::rate,
       kThroughput,
       nullptr,
       "Vector accesses that hit the nearest memory; gathers and scatters with lanes that lie "
       "apart, splats of one element.",
       true},
      {"Bandwidth",
       "Memory of a group's own",
       "group_memory",
       "",
       "",
       "",
       {"", Kind::count, false},
       {"time of a load, or of a byte", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "A chase through 16 KiB of what a group has for itself, and a stream through the same."},
      {"Bandwidth",
       "A group's own memory by the distance of lanes",
       "scratch",
       "stride",
       "stride",
       "",
       {"words from lane to lane", Kind::count, true},
       {"time of a load of all lanes", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "Loads from what a group has for itself. Lanes that meet in one bank wait for each other."},
      {"Bandwidth",
       "A group's own memory after other memory was read",
       "scratch",
       "after",
       "bytes",
       "hops",
       {"bytes read in between", Kind::bytes, false},
       {"time of an iteration", Kind::seconds, true},
       Show::time,
       kLatency,
       nullptr,
       "Reading other memory, with and without hops through the group's own. On the chip these "
       "take the same time whatever was read."},
      {"Arithmetic",
       "Multiply-adds by lanes and chains",
       "fma",
       "fma",
       "chains",
       "lanes",
       {"independent chains", Kind::count, false},
       {"multiply-adds, one unit", Kind::per_second, false},
       Show::lanes_rate,
       kThroughput,
       nullptr,
       "Chains of dependent multiply-adds side by side. One chain shows the latency, enough of "
       "them the rate of the pipes.",
       true},
      {"Arithmetic",
       "Stack use by chains",
       "fma",
       "stack",
       "chains",
       "lanes",
       {"independent chains", Kind::count, false},
       {"stack of the kernel", Kind::bytes, false},
       Show::time,
       kLatency,
       nullptr,
       "What the kernel's compiler reports: where it begins to grow, registers have run out."},
      {"Arithmetic",
       "Operations: one chain and many",
       "operations",
       "",
       "",
       "chains lanes",
       {"", Kind::count, false},
       {"time of one vector operation", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "One chain shows the latency of an operation, many the rate. Of pairs (a+b) a step is one "
       "of either: pairs that "
       "take less than both alone have pipes of their own."},
      {"Arithmetic",
       "Other element types",
       "types",
       "",
       "",
       "chains",
       {"", Kind::count, false},
       {"time of one vector operation", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "The same for numbers of 64 bits, whole numbers and 1 / sqrt. Of pairs (fma+...) every "
       "other step is a multiply-add of f32."},
      {"Arithmetic",
       "Additions in one step",
       "atomics",
       "",
       "groups",
       "",
       {"groups at once", Kind::count, true},
       {"time of an addition", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "same: everyone adds to one number; apart: each lane to its own; chain: what was found is "
       "what is added next. "
       "group_: in memory of the group's own."},
      {"Arithmetic",
       "Groups under way at once, against registers",
       "residency",
       "registers",
       "live",
       "",
       {"live numbers of each thread", Kind::count, false},
       {"groups on all units", Kind::count, false},
       Show::time,
       kLatency,
       nullptr,
       "Groups that look for each other for a bounded time: the first to leave has seen all that "
       "fit."},
      {"Arithmetic",
       "Groups under way at once, against their memory",
       "residency",
       "memory",
       "bytes",
       "",
       {"memory of each group", Kind::bytes, true},
       {"groups on all units", Kind::count, false},
       Show::time,
       kLatency,
       nullptr,
       "The same with a part of the memory that a group may have."},
      {"Arithmetic",
       "Multiply-adds of ever more live numbers",
       "registers",
       "live",
       "live",
       "",
       {"live numbers of each thread", Kind::count, false},
       {"time for each", Kind::seconds, false},
       Show::time,
       kThroughput,
       nullptr,
       "One wave. Where registers do not suffice, each number takes longer."},
      {"Arithmetic",
       "Branches by how far lanes alternate",
       "branches",
       "branch",
       "alternate",
       "threads",
       {"lanes beside each other that go one way; 0: all do", Kind::count, false},
       {"time of a multiply-add", Kind::seconds, false},
       Show::time,
       kThroughput,
       nullptr,
       "Both ways are as long. A wave whose lanes go both ways takes twice as long; from a wave's "
       "width on, none does."},
      {"Arithmetic",
       "Barriers of a group",
       "branches",
       "barrier",
       "threads",
       "",
       {"threads of the group", Kind::count, false},
       {"time of a barrier", Kind::seconds, false},
       Show::time,
       kThroughput,
       nullptr,
       "A group alone that meets again and again."},
      {"Arithmetic",
       "Barriers among groups",
       "barrier",
       "device",
       "groups",
       "",
       {"groups that run at once", Kind::count, true},
       {"time of a barrier", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "Inside one kernel: each group adds one to a number and looks until all have come."},
      {"Arithmetic",
       "Straight-line code",
       "code",
       "straight",
       "steps",
       "",
       {"steps in a loop", Kind::count, true},
       {"time of a step", Kind::seconds, false},
       Show::time,
       kThroughput,
       nullptr,
       "A loop of ever more steps: where its code is fetched from further away, steps take "
       "longer."},
      {"Arithmetic",
       "Code that is not at hand",
       "cold",
       "uncached cold warm",
       "steps",
       "",
       {"steps of straight-line code", Kind::count, true},
       {"time of a launch", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "The code runs once, behind other memory that drives it out of a unit's own caches (cold), "
       "or out of all (uncached), or behind other code (warm)."},
      {"Arithmetic",
       "Scalar operations side by side",
       "vectorisation",
       "neighbours",
       "run",
       "",
       {"elements side by side", Kind::count, true},
       {"time of an element", Kind::seconds, false},
       Show::time,
       kThroughput,
       nullptr,
       "Scalar multiply-adds of elements, so many of them side by side in memory: a compiler that "
       "joins neighbours needs less time for longer runs."},
      {"Arithmetic",
       "Power",
       "power",
       "idle fma",
       "",
       "",
       {"", Kind::count, false},
       {"watts", Kind::count, false},
       Show::time,
       kLatency,
       nullptr,
       "What the packages' energy counter says without work, and with multiply-adds on all units."},
      {"Arithmetic",
       "Issue: mixes of independent operations",
       "mixes",
       "",
       "",
       "",
       {"", Kind::count, false},
       {"operations, one unit", Kind::per_second, false},
       Show::rate,
       kThroughput,
       nullptr,
       "Instructions that do not wait for each other, of several kinds. The best mix shows how "
       "many one unit issues."},
      {"Arithmetic",
       "Units at once",
       "units",
       "",
       "units",
       "",
       {"units at once", Kind::count, false},
       {"time of a unit's own step", Kind::seconds, false},
       Show::time,
       kThroughput,
       nullptr,
       "The same arithmetic on one unit and on all. Units that are real take no longer together."},
      {"Arithmetic",
       "Groups that fill a unit each",
       "units",
       "alone",
       "groups",
       "",
       {"groups at once", Kind::count, false},
       {"time until the last has ended", Kind::seconds, false},
       Show::time,
       kThroughput,
       nullptr,
       "Groups that take all the memory a group may have: one more than there are units, and one "
       "unit runs two, one after the other."},
      {"Arithmetic",
       "Multiply-adds by groups at a time",
       "waves",
       "",
       "groups",
       "lanes chains",
       {"groups at once", Kind::count, true},
       {"multiply-adds, whole device", Kind::per_second, true},
       Show::lanes_rate,
       kThroughput,
       nullptr,
       "Ever more groups at a time. Where the rate grows no further, all units are as busy as they "
       "can be."},
      {"Clock",
       "Clock under load",
       "clock",
       "",
       "lanes",
       "",
       {"lanes of the vectors beside it", Kind::count, true},
       {"clock", Kind::hertz, false},
       Show::rate,
       kLatency,
       nullptr,
       "A chain of additions, one tick each, alone (the sentinel) and beside loads, stores and "
       "multiply-adds."},
      {"Clock",
       "Clock with all units at work",
       "sustained",
       "",
       "units",
       "lanes",
       {"units at once", Kind::count, false},
       {"clock", Kind::hertz, false},
       Show::rate,
       kThroughput,
       nullptr,
       "The same chain with multiply-adds of the widest vectors beside it, on all units."},
      {"Launching",
       "Cost of launching",
       "launch",
       "",
       "",
       "",
       {"", Kind::count, false},
       {"time", Kind::seconds, true},
       Show::time,
       kThroughput,
       nullptr,
       "eager: one launch, waited for. step: one more launch in a run. barrier: one more step "
       "inside a launch. group: "
       "one more group in a queue. join: until all units take part."},
  };
  return rows;
}

bool holds(const char* words, const std::string& word) {
  std::istringstream in(words);
  for (std::string w; in >> w;)
    if (w == word) return true;
  return false;
}

std::vector<std::string> words_of(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

bool speaks_of(const Row& row, const Observation& o) {
  return holds(row.experiments, o.experiment) && (*row.whats == '\0' || holds(row.whats, o.what));
}

// Of memory near to far, as the profile has them: those of levels that were joined are not known.
std::vector<std::string> level_names(const Source& source) {
  std::vector<std::string> out;
  for (const hwdesc::MemoryLevel& m : source.profile.memory)
    if (m.managed == hwdesc::Managed::automatic || m.name == "dram") out.push_back(m.name);
  return out.size() == source.known.levels.plateaus.size() ? out : std::vector<std::string>{};
}

// `levels`: their names; none: not known.
std::string condition_text(const std::string& name, double v,
                           const std::vector<std::string>& levels) {
  if (name == "bytes" || name == "stride" || name == "distance")
    return name + " " + human(v, Kind::bytes);
  if (name == "level")
    return v < static_cast<double>(levels.size()) ? levels[static_cast<size_t>(v)]
                                                  : fmt::format("level {:.0f}", v + 1);
  if (name == "lanes" || name == "units" || name == "chains")
    return fmt::format("{:.0f} {}", v, v == 1 ? name.substr(0, name.size() - 1) : name);
  return name + " " + human(v, Kind::count);
}

double shown(double sample, const Observation& o, Show show) {
  if (show == Show::time) return sample;
  return (show == Show::lanes_rate ? o.value_at("lanes", 1) : 1) / sample;
}

// A rate's interval turns round.
Estimate estimate_of(double x, const std::vector<Observation>& blocks, Show show,
                     Estimator estimator) {
  const auto s = summarize(blocks, estimator);
  if (!s) return {x, std::nan(""), std::nan(""), std::nan(""), 0};
  const double a = shown(s->low, blocks[0], show), b = shown(s->high, blocks[0], show);
  return {x, shown(s->value, blocks[0], show), std::min(a, b), std::max(a, b), s->n};
}

struct Plan {     // which blocks go into which series of one chart, and where
  std::string x;  // condition; "": names
  std::vector<std::string> split;
  bool several_whats = false;  // the quantity is part of a series' name
  Show show = Show::time;
  Estimator estimator = kLatency;
  std::vector<std::string> levels;  // of memory
};

std::string series_name(const Plan& plan, const Observation& o) {
  std::string out = plan.several_whats && !plan.x.empty() ? o.what : "";
  for (const std::string& name : plan.split)
    if (o.at.contains(name))
      out += (out.empty() ? "" : ", ") + condition_text(name, o.value_at(name), plan.levels);
  return out.empty() ? o.what : out;
}

Series series_of(const std::string& name, const std::vector<Observation>& blocks, const Plan& plan,
                 const std::vector<std::string>& names) {
  Series out{name, {}, {}, {}, !plan.x.empty()};
  std::map<double, std::vector<Observation>> by_x;
  for (const Observation& o : blocks) {
    const double x = plan.x.empty()
                         ? double(std::find(names.begin(), names.end(), o.what) - names.begin())
                         : o.value_at(plan.x);
    by_x[x].push_back(o);
    for (size_t i = 0; i < o.samples.size(); ++i) {
      const bool waited = i < o.disturbed.size() && o.disturbed[i] > kDisturbed;
      (waited ? out.waiting : out.samples).push_back({x, shown(o.samples[i], o, plan.show)});
    }
  }
  for (const auto& [x, at] : by_x)
    out.line.push_back(estimate_of(x, at, plan.show, plan.estimator));
  return out;
}

// The conditions that set the blocks of a bar apart would be lost without a series of their own.
void fill(Chart& chart, const std::vector<Observation>& blocks, const Plan& plan) {
  if (plan.x.empty())
    for (const Observation& o : blocks)
      if (std::find(chart.names.begin(), chart.names.end(), o.what) == chart.names.end())
        chart.names.push_back(o.what);
  std::sort(chart.names.begin(), chart.names.end());
  std::vector<std::pair<std::string, std::vector<Observation>>> groups;  // by ascending conditions
  std::vector<Observation> sorted = blocks;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Observation& a, const Observation& b) {
    if (a.what != b.what) return a.what < b.what;
    for (const std::string& name : plan.split)
      if (a.value_at(name) != b.value_at(name)) return a.value_at(name) < b.value_at(name);
    return false;
  });
  for (Observation& o : sorted) {
    const std::string name = series_name(plan, o);
    const auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (it == groups.end())
      groups.push_back({name, {std::move(o)}});
    else
      it->second.push_back(std::move(o));
  }
  if (plan.x.empty() && plan.split.empty()) groups = {{"estimate", blocks}};
  for (const auto& [name, list] : groups)
    chart.series.push_back(series_of(name, list, plan, chart.names));
}

bool usable(const Observation& o) {
  return !o.samples.empty() &&
         std::all_of(o.samples.begin(), o.samples.end(), [](double s) { return std::isfinite(s); });
}

// What can be drawn: a logarithm, or a rate, needs more than nothing.
bool drawable(const Observation& o, Show show, bool log) {
  return usable(o) &&
         (!(log || show != Show::time) ||
          std::all_of(o.samples.begin(), o.samples.end(), [](double s) { return s > 0; }));
}

Chart chart_of(const Row& row, const Source& source) {
  Chart out{row.section, row.title, row.method, row.x_axis, row.y_axis, {}, {}, {}, row.heat};
  Plan plan{row.x, words_of(row.split), false, row.show, row.estimator, level_names(source)};
  std::vector<Observation> blocks;
  std::set<std::string> whats;
  for (const Observation& o : source.all.points)
    if (speaks_of(row, o) && drawable(o, row.show, row.y_axis.log) &&
        (plan.x.empty() || o.at.contains(plan.x))) {
      blocks.push_back(o);
      whats.insert(o.what);
    }
  plan.several_whats = whats.size() > 1;
  if (blocks.empty()) return out;
  fill(out, blocks, plan);
  if (row.apart)
    for (Series& s : out.series) s.joined = false;
  if (row.mark != nullptr) row.mark(source, out);
  return out;
}

// Experiments no row speaks of: against the condition that takes the most values.
Chart unforeseen_chart(const std::string& experiment, const std::vector<Observation>& blocks) {
  std::map<std::string, std::set<double>> values;
  std::set<std::string> whats;
  for (const Observation& o : blocks) {
    whats.insert(o.what);
    for (const auto& [name, v] : o.at) values[name].insert(v);
  }
  Plan plan;
  size_t most = 1;
  for (const auto& [name, v] : values)
    if (v.size() > most && std::all_of(blocks.begin(), blocks.end(),
                                       [&](const Observation& o) { return o.at.contains(name); })) {
      most = v.size();
      plan.x = name;
    }
  for (const auto& [name, v] : values)
    if (name != plan.x && v.size() > 1) plan.split.push_back(name);
  plan.several_whats = whats.size() > 1;
  const std::string& unit = blocks[0].unit;
  const Kind y = unit == "s" ? Kind::seconds : unit == "B" ? Kind::bytes : Kind::count;
  const bool bytes = plan.x == "bytes" || plan.x == "stride" || plan.x == "distance";
  const auto positive = [](double v) { return v > 0; };
  const bool x_log = !plan.x.empty() && most > 4 &&
                     std::all_of(values[plan.x].begin(), values[plan.x].end(), positive);
  const bool y_log = std::all_of(blocks.begin(), blocks.end(), [](const Observation& o) {
    return drawable(o, Show::rate, true);
  });
  Chart out{"Other experiments",
            experiment,
            "Every sample of the experiment as it was taken, and its 10 % quantile.",
            {plan.x, bytes ? Kind::bytes : Kind::count, x_log},
            {"sample", y, y_log},
            {},
            {},
            {},
            false};
  fill(out, blocks, plan);
  return out;
}

std::vector<Chart> unprefetched(const Source& source) {
  std::vector<std::pair<std::string, std::vector<Observation>>> groups;
  for (const Observation& o : source.all.points) {
    const bool known = std::any_of(table().begin(), table().end(), [&](const Row& r) {
      return speaks_of(r, o) && (*r.x == '\0' || o.at.contains(r.x));
    });
    if (known || !usable(o) || o.what == "sentinel") continue;  // the sentinel has its own chart
    const std::string name = o.experiment + (o.unit == "s" ? "" : ", " + o.unit);
    const auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (it == groups.end())
      groups.push_back({name, {o}});
    else
      it->second.push_back(o);
  }
  std::vector<Chart> out;
  for (const auto& [name, blocks] : groups) out.push_back(unforeseen_chart(name, blocks));
  return out;
}

}  // namespace

std::vector<Chart> charts_of(const Source& source) {
  std::vector<Chart> out;
  for (const Row& row : table()) {
    Chart c = chart_of(row, source);
    if (!c.series.empty()) out.push_back(std::move(c));
  }
  for (Chart& c : unprefetched(source)) out.push_back(std::move(c));
  return out;
}

std::vector<Chart> drift_of(const Source& source) {
  const Axis blocks{"blocks in the order they were taken", Kind::count, false};
  Chart clock{
      "How quiet the machine was",
      "Clock of the sentinel",
      "A chain of additions next to each block. A disturbed sentinel only ever looks slower.",
      blocks,
      {"clock", Kind::hertz, false},
      {},
      {},
      {},
      false};
  Chart others{
      "How quiet the machine was",
      "Others on the machine",
      "Share of the whole machine that others used around a block, and the largest share of a "
      "sample's time during which our own threads were kept from running. Estimates rest on quiet "
      "samples where there are enough.",
      blocks,
      {"share", Kind::share, false},
      {},
      {},
      {},
      false};
  Series quiet{"quiet", {}, {}, {}, false}, busy{"others used the machine", {}, {}, {}, false},
      waited{"our threads waited", {}, {}, {}, false};
  Series foreign{"used by others", {}, {}, {}, false},
      waiting{"our threads waited", {}, {}, {}, false};
  std::string running;
  for (size_t i = 0; i < source.all.points.size(); ++i) {
    const Observation& o = source.all.points[i];
    const auto x = static_cast<double>(i);
    double kept = 0;
    for (const double d : o.disturbed) kept = std::max(kept, d);
    Series& to = kept > kDisturbed ? waited : o.foreign > kDisturbed ? busy : quiet;
    if (o.clock_hz && std::isfinite(*o.clock_hz)) to.samples.push_back({x, *o.clock_hz});
    if (!o.samples.empty() && o.unit == "s") {
      foreign.samples.push_back({x, o.foreign});
      waiting.samples.push_back({x, kept});
    }
    if (o.experiment != running) {
      running = o.experiment;
      clock.marks.push_back({running, x, x});
    }
    clock.marks.back().to = x;
  }
  if (const std::string note = drift_note(source.all); !note.empty()) clock.method += " " + note;
  others.marks = clock.marks;
  for (Series* s : {&quiet, &busy, &waited})
    if (!s->samples.empty()) clock.series.push_back(std::move(*s));
  for (Series* s : {&foreign, &waiting})
    if (!s->samples.empty()) others.series.push_back(std::move(*s));
  std::vector<Chart> out;
  for (Chart* c : {&clock, &others})
    if (!c->series.empty()) out.push_back(std::move(*c));
  return out;
}

}  // namespace assay::probe
