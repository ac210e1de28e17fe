// Profile -> canonical YAML. Post-conditions: parse(print(p)) == canonical(p), and
// print(parse(print(p))) is print(p), byte for byte. The order of keys, spaces, quotes and comments
// of the file do not matter. So the hash of the text is the identity of the profile.
#pragma once

#include <string>

#include "hwdesc/profile.h"

namespace assay::hwdesc {

std::string print_profile(const Profile& profile);

// 32 hexadecimal digits of the canonical text.
std::string hash_of(const Profile& profile);

}  // namespace assay::hwdesc
