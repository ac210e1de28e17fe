// Content hashes: 128 bits of XXH3 as 32 hexadecimal digits. Names of cache entries and the
// identity of profiles, plans and kernels; not a defence against an adversary.
#pragma once

#include <string>
#include <string_view>

namespace assay {

std::string hash_hex(std::string_view bytes);

}  // namespace assay
