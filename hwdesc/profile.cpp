#include "hwdesc/profile.h"

namespace assay::hwdesc {

Profile::Profile() = default;
Profile::Profile(const Profile&) = default;
Profile::Profile(Profile&&) noexcept = default;
Profile& Profile::operator=(const Profile&) = default;
Profile& Profile::operator=(Profile&&) noexcept = default;
Profile::~Profile() = default;
bool Profile::operator==(const Profile&) const = default;

}  // namespace assay::hwdesc
