// Loop kernel -> source text of a kernel language, by its dialect.
//
// A dialect (hw_profiles/dialects/<name>.yaml) holds typed capabilities (read by hwdesc) and
// spellings (read here): `{hole}` templates with precedence, headers `when: feature`. No loops and
// no conditions in it: structure is decided here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/kernel.h"
#include "support/result.h"

namespace assay::codegen {

struct Dialect;  // codegen/dialect.h

// One translation unit with all `kernels`; each becomes a body (a function of its buffers and one
// group) and an entry  extern "C" void <name>(void* const* args, void* scratch, int64_t
// group_begin, int64_t group_end)  that runs the body for a range of groups (cpp; other dialects:
// their own entry around the same body). Errors: what the dialect can not spell, naming kernel and
// operation.
// `threads` above 1: lanes are threads, so many to a wave; a body then takes its thread's number
// too.
Result<std::string> render(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                           int threads = 1);

// One kernel `name` that runs launch after launch of any of `kernels` (launch rows name them by
// position), with the units in step: what a static schedule over all of a plan is run by. Errors:
// as render; a dialect without `sequence`.
Result<std::string> render_sequence(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                                    const std::string& name);
bool has_sequence(const Dialect& dialect);

// Bytes of scratch the entry needs, aligned pieces included.
int64_t scratch_bytes(const ir::Kernel& kernel);

}  // namespace assay::codegen
