// One small interface over everything that can run loop kernels. A folder per kind of device; each
// renders the kernels itself, and returns times and a report of what the compiler made of them.
// Buffers persist between runs, so a whole bundle is placed once and run many times.
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
  std::string name;     // what people call it: the CPU's model name
  std::string api;      // name of the profile's api it runs: cpp
  std::string dialect;  // of its kernels; "": named as the api
  int units = 1;        // units this process may use
  int64_t memory_bytes = 0;
  bool threads = false;     // lanes are threads, and the driver deals groups to units
  std::vector<int> widths;  // lanes of f32 that a vector, or a wave, may have; empty: not known
  double clock_hz = 0;      // of the units, as the driver says; 0: it does not
  bool simulated = false;   // its time is not this machine's: nobody else disturbs it
  bool in_sequence =
      false;  // one kernel runs through the launches of a run, unless LoadOptions::one_by_one
  std::vector<std::pair<std::string, std::string>> facts;  // driver, os, isa, compiler, ...

  // The text of one; "" where nothing is said.
  std::string fact(const std::string& of) const {
    for (const auto& [fact_name, text] : facts)
      if (fact_name == of) return text;
    return "";
  }
};

// A kind of device that was looked for and is not usable, with the reason.
struct Absence {
  std::string id, reason;
  std::string hint = {};  // what to do about it
  std::string api = {};   // that it would run; "": named as the id
};

struct KernelReport {
  std::string kernel;
  int64_t code_bytes = 0;
  int64_t stack_bytes = -1;  // spills and private memory; -1: not known
  int registers = -1;        // of a thread; -1: not known
};

// done of total units of work, and what is being done now.
using Progress = std::function<void(int64_t done, int64_t total, const std::string& what)>;
using CancelToken = std::atomic<bool>;

struct LoadOptions {
  std::string cache_dir;             // "": $XDG_CACHE_HOME/assay or ~/.cache/assay
  std::string optimization = "-O3";  // of the kernel compiler
  Progress progress;                 // may be empty
  const CancelToken* cancel = nullptr;
  bool one_by_one =
      false;  // every launch on its own, also where one kernel could run through all of them
  bool guarded = false;  // zones around every buffer, checked after every run (for tests)
};

struct BufferRange {
  int buffer = -1;
  int64_t offset = 0;  // bytes
};

// How the numbers of an image lie in memory: as their type; f32 as f16, or as bytes of which 255
// is 1.
enum class Stored { as_type, f16, unorm8 };

// Of ir::Space::image: texels of `texel` numbers, a row below the other.
struct ImageShape {
  ir::DType dtype = ir::DType::f32;  // that kernels read
  int texel = 1;
  int64_t width = 1, height = 1;
  Stored stored = Stored::as_type;
  int64_t number_bytes() const {
    return stored == Stored::f16 ? 2 : stored == Stored::unorm8 ? 1 : ir::bytes_of(dtype);
  }
  int64_t row_bytes() const { return width * texel * number_bytes(); }
  int64_t bytes() const { return row_bytes() * height; }
  // As kernels count them, of whose type a number is.
  int64_t counted_bytes() const { return width * height * texel * ir::bytes_of(dtype); }
  bool operator==(const ImageShape&) const = default;
};

// What it is made of, as graphics has it: rgba16f, r32i. For messages, and in profiles.
std::string format_name(const ImageShape& shape);

struct Launch {
  int kernel = -1;                     // position in load()'s list
  std::vector<BufferRange> arguments;  // in the order of the kernel's global buffers
  std::vector<ir::Queue> queues;       // groups per unit; empty: split evenly over all units
};

struct RunOptions {
  int repeat = 1;
  int warm_up = 0;
  const CancelToken* cancel = nullptr;
  bool recorded = false;  // once, in a command buffer or a graph, and handed over as one. Of
                          // RunTimes only `total` is told, by the host's clock
};

// Seconds. `steps[r][s]`: from the barrier before launch s to the one after it, in repeat r; taken
// inside the units. `total[r]`: first launch's start to the last one's end. `busy[r][s]`: from when
// the device began with launch s to its end, without what handing it over took; where that can not
// be told, the step.
struct RunTimes {
  std::vector<std::vector<double>> steps, busy;
  std::vector<double> total;
  int64_t executed = 0;  // operations that a simulator carried out to tell them; 0: hardware did,
                         // or they were known
};

struct Word {
  int64_t offset = 0;  // bytes
  int64_t value = 0;
};

class Module {  // invariant: built code for a list of kernels, and the buffers it works on
 public:
  virtual ~Module() = default;

  // Zeroed, touched by the units, 64-byte aligned (large ones on huge pages where the system allows
  // it, the same for all). Errors: out of memory.
  virtual Result<int> allocate(int64_t bytes) = 0;
  // What arguments in the space of images may be: a buffer that is written and read in whole rows,
  // and by nothing else. Errors: the device, or its api here, has no such images.
  virtual Result<int> allocate_image(const ImageShape&) { return error("it has no images here"); }
  virtual void write(BufferRange to, std::span<const std::byte> data) = 0;
  // Words all over a buffer, in the order given (which decides what stays in caches).
  virtual void write_words(int buffer, std::span<const Word> words) = 0;
  virtual void read(BufferRange from, std::span<std::byte> data) const = 0;
  // Makes so many bytes visible to the host and gives them back, untouched: seconds. nullopt: not a
  // thing of this device.
  virtual std::optional<double> map(BufferRange, int64_t) { return std::nullopt; }

  // Runs the launches in order, `repeat` times, a barrier after each launch.
  // Errors: cancelled; argument out of range; launches to be recorded where the api, or the driver,
  // has no way to.
  virtual Result<RunTimes> run(std::span<const Launch> launches, const RunOptions& options) = 0;

  // Energy drawn so far, J, since a moment that stays. Errors: the device has no counter, or it may
  // not be read.
  virtual Result<double> joules() const { return error("no counter of such a device is known"); }

  virtual const std::vector<KernelReport>& reports() const = 0;
  virtual double build_seconds() const = 0;  // 0 when everything came from the cache
  virtual const Diags& warnings()
      const = 0;  // what went otherwise than asked: another cache folder
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
      named{};  // kinds with a device for every name, and how to name one: none of them is listed
};

// Looks at every kind of device this build knows; never fails.
Found devices();

// Errors: no such device: names those there are.
Result<std::unique_ptr<Device>> open(const std::string& id);

}  // namespace assay::runtime
