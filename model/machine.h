// Machine: a target's numbers resolved for the physics: seconds, bytes, instructions per second of
// one unit. Prepared once. What a profile does not know is filled by a stated assumption, and every
// assumption is listed, so that an estimate can say what it rests on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/target.h"
#include "ir/dtype.h"
#include "ir/matrix.h"
#include "model/interval.h"
#include "support/result.h"

namespace assay::model {

// A number and the relative half-width of its interval (0: exact or unknown).
struct Quantity {
  double value = 0;
  double spread = 0;  // (high - low) / (2 value)
  bool assumed = false;
  std::string path;  // profile field, for explanations
  double parts = 1;  // partitions of a unit that reach the rate together; a wave runs on one
};

// Hit rate by footprint, bytes: 1 up to `from`, `half` at `middle` where that lies between, 0 from
// `to` on. to = 0: not known.
struct HitCurve {
  double from = 0, middle = 0, half = 0.5, to = 0;
};

struct Level {  // one memory, near to far
  std::string name;
  bool shared = false;         // one instance serves several units, or would
  bool is_scratchpad = false;  // code copies into it
  bool last = false;           // the farthest for this program: dram or host
  double instances = 1;        // in the whole device
  // Hits by footprint in bytes of one instance (retention.h): all up to `capacity`, `middle_hits`
  // at `middle` (0: not known), none from `end` on. From a cyclic scan, else from the knee of a
  // chase.
  Quantity capacity;
  double middle = 0;
  double middle_hits = 0.5;
  double end = 0;
  bool cyclic_scan = false;
  double line = 64;        // bytes of a transaction
  double whole_line = 64;  // of a cache line, which may have several sectors
  double sets = 1;         // of a cache; from ways where known, else as if of 8 to 15 ways
  Quantity read, write;    // bytes/s of one instance, all its units together
  Quantity per_unit_read, per_unit_write;  // bytes/s one unit alone reaches
  // p of the bandwidth law (bandwidth.h). Where it is not known, `read` is what all units reach.
  double bandwidth_exponent = 100;
  // Read/write serialisation: concurrent reading and writing take at least so much of the sum of
  // their times. 1: half-duplex.
  double read_write_serialisation = 1;
  // The time of copying over the sum of the times of reading and of writing, at least 1: a memory's
  // bus loses time where it turns between them.
  double read_write_turnaround = 1;
  // Hit curves of data used once and of data used several times, by the bytes of other data that
  // came in since.
  HitCurve single_use_retention, reuse_retention;
  // Bytes/s that co-tenants bring into an instance; 0: not known, or there are none.
  Quantity co_tenant_eviction;
  // s that the begin of a run costs a unit beyond streaming, as short runs showed: read, written.
  // nullopt: not measured.
  std::optional<double> unprefetched_miss, unprefetched_store;
  Quantity latency;  // s
  // Of the time that lines take from here, the part that overlaps with computing (ECM).
  Quantity overlap{1, 0, false, "", 1};
  double outstanding_misses = 10;  // lines that one unit waits for at once
  Quantity energy;                 // J of a byte read or written; 0: not known
  bool write_allocates = true;
};

struct NarrowRate {  // of vectors of up to `lanes`
  int lanes = 0;
  double rate = 0;  // instr/s/unit, gathered or scattered lanes/s/unit, or a ratio
};

struct WideBarrier {
  double waves = 1;
  Quantity time;  // s
};

struct ResidentBarrier {
  double groups = 1;
  Quantity time;  // s
};

// A matrix instruction of the chip, at the rate of one unit.
struct MatrixRate {
  ir::MatrixInstruction instruction;
  Quantity multiply_adds;  // per s
  Quantity energy;         // J of a multiply-add; 0: not known
  Quantity latency;        // s, of sums that wait for each other; 0: not known
};

struct TypeRate {
  ir::DType type = ir::DType::f32;
  Quantity multiply_adds;  // per s of a unit, through the lanes' own pipes
  Quantity energy;         // J of a multiply-add; 0: not known
};

// What loads and stores of elements of one type take to convert them, in additions of f32. Elements
// that are loaded for all lanes may be converted before they are.
enum class Access { load, splat, store };
struct ConversionCost {
  Access access = Access::load;
  ir::DType stored = ir::DType::f32, computed = ir::DType::f32;
  Quantity additions;  // of a vector, or of an element for all its lanes
};

// Copies between host memory and the device, one at a time. Of cores, the host's memory is theirs,
// and one of them copies.
struct HostLink {
  Quantity to_device, from_device;  // bytes/s
  Quantity latency;                 // s of a small copy; 0: not known
};

struct Machine {
  std::string profile;
  bool simt = false;
  bool conditions = false;  // steps are left out where Step::needed_if does not hold
  double units = 1;
  int first_unit = 0;       // of the part of a chip that runs a step; see part_of in simulator/
  double clock = 1e9;       // Hz of one unit under vector load
  int native_width = 1;     // 4-byte lanes that issue together
  std::vector<int> widths;  // usable vector widths, ascending
  double vector_registers = 32;  // of native width, per unit
  double resident_groups = 1;    // limit per unit
  double resident_waves = 1;
  double partitions = 1;  // of a unit, each with registers of its own
  double issuers = 1;     // of a unit, each with a slot a tick; a wave has one
  double registers_per_thread_max = 255;
  double register_granule = 1;       // registers of a thread are allotted in multiples of it
  double banks = 0, bank_width = 4;  // of the scratchpad, bytes a tick of each; 0: not known
  // Vector instr/s/unit.
  Quantity fma_rate, load_rate, store_rate, alu_rate, divide_rate, math_rate;
  // Operations on one pipe are serialised.
  std::string fma_pipe, alu_pipe, divide_pipe, math_pipe;
  // Ratio of instructions to those of whole vectors in the same time, by lanes, ascending; the
  // others where they differ.
  std::vector<NarrowRate> narrow_arithmetic, narrow_divides, narrow_math;
  // Rates by lanes, ascending, where they differ from whole vectors'.
  std::vector<NarrowRate> narrow_loads, narrow_stores, narrow_splats;
  Quantity gather_rate, scatter_rate;  // lanes/s/unit; 0: not known
  Quantity splat_rate;                 // broadcast loads/s/unit into a whole vector; 0: as any load
  std::vector<NarrowRate> narrow_gathers, narrow_scatters;  // lanes/s/unit of narrower vectors
  Quantity issue_rate;                                      // vector instr/s/unit
  double window = 0;                  // instructions of a core that may wait for earlier ones
  double hidden_latency = 0;          // s in which it issues as many
  double prefetch_streams = 0;        // rows that its prefetchers follow at once
  Quantity fma_latency, add_latency;  // s
  // s from a multiply-add on a vector in memory to the next one on the same (store forwarding).
  Quantity update_latency;
  // Of the nearest memory, as Level::read_write_serialisation.
  double load_store_serialisation = 0.5;
  // s between two fills of one set of the nearest cache; of lines that are partly modified there
  // and written back.
  Quantity set_conflict, set_conflict_dirty;
  Quantity false_sharing;  // s per end of a run where another unit's begins; 0: not known
  // Bytes/s a unit reaches in lines that another unit's private cache holds: modified there, loaded
  // or stored to; shared, stored to. 0: not known.
  Quantity dirty_remote_read, dirty_remote_rfo;
  Quantity upgrade;
  int slp_lanes = 1;  // of vectors that the kernel language's compiler makes of scalar neighbours
  int merged_loads = 1;  // neighbouring words of a scratchpad that it loads with one instruction
  int unrolled = 1;      // iterations of a loop of threads whose loads it hoists together
  // A mover copies into a scratchpad while the unit computes.
  bool copies_overlap = false;
  bool copies_multicast = false;        // it fills the scratchpads of several units at once
  Quantity wakeup_skew;                 // s from the first unit's start to the last one's; 0: none
  double page = 4096, tlb_entries = 0;  // bytes; entries of the first TLB, 0: not known
  Quantity tlb_miss;                    // s
  // Second TLB: `line` is a page, `capacity` the bytes of its pages, `latency` the s of an
  // overlapped miss. Empty: not known.
  Level second_tlb;
  // s added to a launch whose code a unit's private caches, or all caches, have evicted; 0: not
  // known.
  Quantity cold_code, uncached_code;
  std::vector<TypeRate> types;
  std::vector<ConversionCost> conversions;  // that are known
  std::vector<MatrixRate> instructions;
  // Instructions that the profile names and nobody described, so that nothing can use them.
  std::vector<std::string> undescribed;
  // W that work may draw beyond what the chip draws without any; 0: not known.
  Quantity power;
  Quantity simple_energy, divide_energy, math_energy;  // J of an operation; 0: not known
  // s of a launch by an eager framework, in a stream, in a recorded graph; 0: not known.
  Quantity eager_launch, stream_launch, graph_launch;
  // s. A launch in a stream, or a step of a schedule, includes its barrier.
  Quantity launch, group_start;
  bool merges = false;     // steps that run side by side can be one launch
  Quantity beside_launch;  // s added by one more launch without a barrier before it; 0: not known
  Quantity group_barrier;  // s, of a group of one wave; 0: not known
  std::vector<WideBarrier> wide_barriers;  // of several, ascending
  // Of groups that are all on the chip at once, by their number, ascending; empty: not known.
  std::vector<ResidentBarrier> resident_barriers;
  std::vector<Level> levels;          // [0] nearest
  std::optional<HostLink> host_link;  // nullopt: not known
  std::vector<Residual> residuals;    // measured / predicted, by regime
  std::vector<std::string> assumptions;
};

// Seconds of a barrier in a group of so many waves: linear between two sizes that the profile
// knows, constant beyond the last. 0: it knows none.
double group_barrier_of(const Machine& m, double waves);

// Seconds of a barrier of so many groups in one launch: linear between two numbers that the profile
// knows, constant beyond the last. 0: it knows none.
double resident_barrier_of(const Machine& m, double groups);

// The first level that is no scratchpad. Pre: there is a memory.
const Level& nearest_cache(const Machine& m);

// An assumption for an unknown field, times a factor: how much depends on it?
struct Scaled {
  std::string path;  // of the field; empty: none
  double factor = 1;
};

// `described`: shapes and types of matrix instructions by name, before those of the library; others
// of the profile are left out.
// Errors: no unit count, ticks of a clock that is not known, no multiply-add rate, no memory.
Result<Machine> prepare(const hwdesc::Target& target, const Scaled& scaled = {},
                        std::span<const ir::MatrixInstruction> described = {});

// Multiply-adds per second of a unit on numbers of this type, accumulated in another: through the
// lanes' pipes (`instruction` empty) or a matrix instruction. 0: it has none.
double product_rate(const Machine& m, ir::DType type, const std::string& instruction);
// What a multiply-add computed in another type costs, in those of f32; 1 where either is not known.
double multiply_add_cost(const Machine& m, ir::DType computed);

// The chip's own of that name; nullptr: it has none, or its rate is not known.
const MatrixRate* matrix_rate(const Machine& m, const std::string& instruction);
double seconds_of_instruction(const Machine& m,
                              const std::string& name);  // of a unit; 0: it has none

// J of one of them; 0: not known.
double product_energy(const Machine& m, ir::DType type, const std::string& instruction);

}  // namespace assay::model
