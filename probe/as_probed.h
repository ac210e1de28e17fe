// How the host runs the device now, compared with what its profile says: is a time measured now one
// that the profile's prediction can be held against?
#pragma once

#include "hwdesc/target.h"
#include "probe/host_state.h"

namespace assay::probe {

// What the profile says of one unit, as the prediction takes it; 0: unknown.
struct ProfileRates {
  double multiply_adds = 0;                   // vectors/s
  double dirty_remote_read = 0, upgrade = 0;  // bytes/s
};

// Rates now over the profile's, and the cross-die ratio (see CoherenceRates); 0: unknown.
struct AsProbed {
  double multiply_adds = 0, dirty_remote_read = 0, upgrade = 0, cross_die_ratio = 0;
};

// Was a pipe's rate measured, so that there is something to compare with?
bool was_probed(const hwdesc::Target& target);

// The fastest of a few bursts, and one look at the caches. Errors: a burst failed, cancelled.
Result<AsProbed> as_probed(HostState& host, const ProfileRates& profile,
                           const runtime::CancelToken* cancel);

// Are units placed as they were when they were probed, or is it unknown? Their own rate does not
// count.
bool placed_as_probed(const AsProbed& now);

// The profile for the placement of now. Dirty remote reads, dirty remote RFOs (which are not
// measured here: they change as the reads do) and upgrades take the rates of now. Cross-die: each
// unit has a last cache of its own, with the bandwidth that one unit alone reaches. A unit's own
// rates stay.
hwdesc::Profile profile_as_placed(hwdesc::Profile profile, const AsProbed& now);

// 1 where nothing is slower than it may be, else less: the product of what is slower.
double likeness(const AsProbed& now);

// Warnings about each difference that makes times of now no measure of the profile.
Diags differences(const AsProbed& now);

}  // namespace assay::probe
