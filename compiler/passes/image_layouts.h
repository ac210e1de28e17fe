// What the passes share that change the layouts of images after they were chosen. Internal to
// passes/.
#pragma once

#include <set>

#include "compiler/passes/choose_layouts.h"

namespace assay::compiler {

constexpr int kChannels = 1;  // the dimension of an image

// Is a dimension of the tensor stored in blocks?
bool is_blocked(const LaidOut& laid, int tensor);

// The blocked tensor and those that elementwise nodes link to it; empty: it is not blocked.
std::set<int> image_with(const LaidOut& laid, int tensor);

// The nodes that read or write the tensors, as a graph of their own.
LaidOut around(const LaidOut& laid, const std::set<int>& tensors);

}  // namespace assay::compiler
