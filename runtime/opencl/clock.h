// The clock that kernels on the host's processor read.
#pragma once

namespace assay::runtime::opencl {

// 0: kernels and host share no clock.
double ticks_per_second();

}  // namespace assay::runtime::opencl
