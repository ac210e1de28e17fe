// Loop kernel -> source text of a kernel language, by its dialect.
//
// A dialect (hw_profiles/dialects/<name>.yaml) holds typed capabilities and spellings: `{hole}`
// templates with precedence, and headers `when: feature`. It has no loops and no conditions, since
// structure is decided here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/kernel.h"
#include "support/result.h"

namespace assay::codegen {

struct Dialect;  // codegen/dialect.h

// One translation unit with all `kernels`. Each becomes a body, a function of its buffers and one
// group, and an entry that runs the body for a range of groups. In cpp the entry is
//   extern "C" void <name>(void* const* args, void* scratch,
//                          int64_t group_begin, int64_t group_end)
// and other dialects have their own. Parts of a body that are functions of their own
// (ir::If::own_function) are printed so where the dialect has `part`. Errors: what the dialect can
// not spell, with its kernel. `threads` above 1: lanes are threads, that many per wave, and a body
// also takes its thread's number.
Result<std::string> render(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                           int threads = 1);

// One kernel `name` that executes a sequence of launches of `kernels` (launch rows name them by
// position), with all units synchronised between launches. It runs a plan's static schedule.
// Where the dialect has `queues`, a second kernel `name` + kQueuesSuffix runs a schedule of them.
// Errors: as render; a dialect without `sequence`.
Result<std::string> render_sequence(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                                    const std::string& name);
inline constexpr const char* kQueuesSuffix = "_queues";
bool has_sequence(const Dialect& dialect);

// One kernel `name` in which groups stay on their units and work through queues of them, by the
// dialect's `queues` alone. Queues name `kernels` by position. Its groups have the threads of the
// widest kernel; `resident` of them are on each unit. Errors: as render; a dialect without
// `queues`, or whose `queues` need its `sequence`.
Result<std::string> render_queues(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                                  const std::string& name, int threads, int resident);

// One kernel `name` of groups of several `kernels`, side by side in one launch, by the dialect's
// `merged`. A table of rows says which groups of the launch are whose, and what these are called
// with; the dialect describes it. The groups have the threads of the widest kernel. Errors: as
// render; a dialect without `merged`; kernels of fewer threads than others, where the dialect has
// no `merged_narrow_case`; lanes that are no threads.
Result<std::string> render_merged(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                                  const std::string& name, int threads);

// Bytes of scratch the entry needs, padding included.
int64_t scratch_bytes(const ir::Kernel& kernel);

}  // namespace assay::codegen
