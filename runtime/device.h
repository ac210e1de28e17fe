// One interface over everything that runs loop kernels, with a folder per kind of device. A device
// renders and builds the kernels, and returns times and a report of what the compiler made of them.
// Buffers persist between runs, so a bundle is placed once and run many times.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/target.h"
#include "ir/kernel.h"
#include "ir/plan.h"
#include "support/result.h"

namespace assay::runtime {

struct DeviceInfo {
  std::string id;       // cpu:0
  std::string name;     // marketing name: the CPU's model name
  std::string api;      // name of the profile's api it runs: cpp
  std::string dialect;  // of its kernels; "": same name as the api
  int units = 1;        // units this process may use
  int64_t memory_bytes = 0;
  bool threads = false;     // lanes are threads, and the driver assigns groups to units
  std::vector<int> widths;  // possible f32 lanes of a vector, or of a wave; empty: unknown
  double clock_hz = 0;      // of the units, as the driver reports it; 0: unknown
  bool simulated = false;   // its time is simulated, so other load can not disturb it
  int scheduled_units = 0;  // with queues of their own: RunOptions::schedule and traced
  bool phased = false;      // RunOptions::phases
  bool merges = false;      // each phase is one launch, where its kernels allow that
  bool in_sequence =
      false;  // one kernel executes all launches of a run, unless LoadOptions::one_by_one
  std::vector<std::pair<std::string, std::string>> facts;  // driver, os, isa, compiler, ...

  // The text of a fact, "" if there is none.
  std::string fact(const std::string& of) const {
    for (const auto& [fact_name, text] : facts)
      if (fact_name == of) return text;
    return "";
  }
};

// A kind of device that is not usable, with the reason.
struct Absence {
  std::string id, reason;
  std::string hint = {};  // how to fix it
  std::string api = {};   // of its kernels; "": same name as the id
};

struct KernelReport {
  std::string kernel;
  int64_t code_bytes = 0;
  int64_t stack_bytes = -1;  // spills and private memory; -1: unknown
  int registers = -1;        // of a thread; -1: unknown
};

// Units of work done, of total, and the current one's name.
using Progress = std::function<void(int64_t done, int64_t total, const std::string& what)>;
using CancelToken = std::atomic<bool>;

struct LoadOptions {
  std::string cache_dir;             // "": $XDG_CACHE_HOME/assay or ~/.cache/assay
  std::string optimization = "-O3";  // of the kernel compiler
  Progress progress;                 // may be empty
  const CancelToken* cancel = nullptr;
  bool one_by_one =
      false;             // one kernel per launch, also where one kernel could execute all of them
  bool guarded = false;  // guard zones around every buffer, checked after every run (for tests)
};

struct BufferRange {
  int buffer = -1;
  int64_t offset = 0;  // bytes
};

// How an image stores its numbers: as their type; f32 as f16, or as unsigned normalised bytes (255
// is 1).
enum class Stored { as_type, f16, unorm8 };

// Of ir::Space::image: texels of `texel` numbers, in row-major order.
struct ImageShape {
  ir::DType dtype = ir::DType::f32;  // as kernels read it
  int texel = 1;
  int64_t width = 1, height = 1;
  Stored stored = Stored::as_type;
  int64_t number_bytes() const {
    return stored == Stored::f16 ? 2 : stored == Stored::unorm8 ? 1 : ir::bytes_of(dtype);
  }
  int64_t row_bytes() const { return width * texel * number_bytes(); }
  int64_t bytes() const { return row_bytes() * height; }
  // As kernels count them: by `dtype`, not by `stored`.
  int64_t counted_bytes() const { return width * height * texel * ir::bytes_of(dtype); }
  bool operator==(const ImageShape&) const = default;
};

// Its format in the notation of graphics APIs: rgba16f, r32i. For messages and profiles.
std::string format_name(const ImageShape& shape);

struct Launch {
  int kernel = -1;                     // position in load()'s list
  std::vector<BufferRange> arguments;  // in the order of the kernel's global buffers
  std::vector<ir::Queue> queues;       // groups per unit; empty: split evenly over all units
  // Bytes of which one is not 0 (`value`), or all are 0; else a device may leave the launch out.
  struct NeededIf {
    BufferRange from;
    int bytes = 0;
    bool value = true;
  };
  std::optional<NeededIf> needed_if = {};
};

struct RunOptions {
  int repeat = 1;
  int warm_up = 0;
  const CancelToken* cancel = nullptr;
  bool recorded = false;  // once, in a command buffer or a graph, then submitted as one. RunTimes
                          // then has only `total`, by the host's clock
  // What each unit's queue holds; a command's `step` is the position of a launch, whose own queues
  // do not count. Empty: the launches in order, a barrier after each.
  std::span<const ir::Command> schedule = {};
  // Positions of launches that run in any order or at once, with a barrier behind each phase. Each
  // launch is in one. RunTimes::steps and busy then have an entry for each phase. Empty: as
  // `schedule` says; not both.
  std::span<const std::vector<int>> phases = {};
  bool traced = false;  // with RunTimes::slices
  // Where lanes are threads: groups of the schedule that are on each unit at once, from its begin
  // to its end, and share each command's groups.
  int resident = 1;
};

// Why a device does not run launches by a schedule that is sound, and what helps.
struct Refusal {
  std::string reason, hint;  // no reason: it runs them
};

// A command of the schedule on a unit: of `run` the groups at work, of others the wait. Seconds
// since the run began.
struct Slice {
  int unit = 0, command = 0;
  double begin = 0, end = 0;
  bool operator==(const Slice&) const = default;
};

// Bytes over the boundary between two memories, of all their instances.
struct Crossing {
  std::string boundary;  // by their names in the profile: `l2<-dram`
  double read = 0, written = 0;
};

// Seconds. `steps[r][s]`: from the barrier before launch s to the one after it, in repeat r, timed
// inside the units. `total[r]`: from the first launch's start to the last one's end. `busy[r][s]`:
// from launch s's start on the device to its end, without launch overhead; equal to the step where
// the device does not report it. Of a schedule, both are empty unless it is traced, and then from
// the start of launch s on its first unit to the end on its last one.
//
// `moved[s]`: bytes that launch s of the last repeat moved over each boundary of the memories, near
// to far. A store that misses counts its line once, as written. Empty: hardware does not count.
struct RunTimes {
  std::vector<std::vector<double>> steps, busy;
  std::vector<double> total;
  std::vector<std::vector<Crossing>> moved = {};
  std::vector<Slice> slices = {};   // of the last repeat, by unit and begin; empty: not traced
  std::vector<bool> left_out = {};  // per launch, by Launch::needed_if; empty: none
  int64_t executed = 0;  // operations that a simulator executed for these times; 0: hardware ran,
                         // or the times were memoized
};

struct Word {
  int64_t offset = 0;  // bytes
  int64_t value = 0;
};

class Module {  // invariant: built code for a list of kernels, and the buffers it works on
 public:
  virtual ~Module() = default;

  // Zeroed, first touched by the units, 64-byte aligned; large ones on huge pages where the system
  // allows it, with one policy for all. Errors: out of memory.
  virtual Result<int> allocate(int64_t bytes) = 0;
  // A buffer for arguments in the image space. It is written and read in whole rows, and kernels
  // access it only as an image. Errors: the device, or this api, has no such images.
  virtual Result<int> allocate_image(const ImageShape&) { return error("this api has no images"); }
  virtual void write(BufferRange to, std::span<const std::byte> data) = 0;
  // Scattered words of a buffer, in this order, which decides what stays in caches.
  virtual void write_words(int buffer, std::span<const Word> words) = 0;
  virtual void read(BufferRange from, std::span<std::byte> data) const = 0;
  // Maps this many bytes for the host and unmaps them, untouched: seconds. nullopt: the device does
  // not map memory.
  virtual std::optional<double> map(BufferRange, int64_t) { return std::nullopt; }

  // Runs the launches in order, `repeat` times, a barrier after each launch; or as the schedule
  // says. Errors: cancelled; argument out of range; `recorded` where the api or the driver can not
  // record launches; a schedule for more than DeviceInfo::scheduled_units, in which a unit would
  // wait for ever, or that prepare() refuses.
  virtual Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) = 0;

  // Builds what run() needs for these launches by this schedule; run() does so too. Errors: those
  // of load().
  virtual Result<Refusal> prepare(std::span<const Launch>, const RunOptions&) { return Refusal{}; }

  // Energy drawn since a fixed moment, J. Errors: the device has no counter, or reading it is not
  // permitted.
  virtual Result<double> joules() const {
    return error("no energy counter is known for this kind of device");
  }

  virtual const std::vector<KernelReport>& reports() const = 0;
  virtual double build_seconds() const = 0;  // 0 when everything came from the cache
  virtual const Diags& warnings()
      const = 0;  // deviations from what was asked, such as another cache folder
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Renders and compiles. Errors: no compiler (with a hint), a kernel that does not compile (the
  // compiler's log with the kernel's name), a cache that can not be written.
  virtual Result<std::unique_ptr<Module>> load(std::span<const ir::Kernel> kernels,
                                               const hwdesc::Target& target,
                                               const LoadOptions& options) = 0;
};

struct Found {
  std::vector<DeviceInfo> devices;
  std::vector<Absence> absent;
  std::vector<Absence>
      named{};  // kinds with a device for every name, and how to name one; not listed
};

// Looks for every kind of device this build knows; never fails.
Found devices();

// Errors: no such device; the message lists those there are.
Result<std::unique_ptr<Device>> open(const std::string& id);

}  // namespace assay::runtime
