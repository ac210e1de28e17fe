// The processor's clock as kernels on it read it.
#pragma once

namespace assay::runtime::opencl {

// 0: kernels have no clock that the host shares.
double ticks_per_second();

}  // namespace assay::runtime::opencl
