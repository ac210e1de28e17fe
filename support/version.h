#pragma once

namespace assay {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace assay
