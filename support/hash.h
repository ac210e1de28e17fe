// Content hashes: 128 bits of XXH3 as 32 hexadecimal digits. They name cache entries and identify
// profiles, plans and kernels. Not cryptographic.
#pragma once

#include <string>
#include <string_view>

namespace assay {

std::string hash_hex(std::string_view bytes);

}  // namespace assay
