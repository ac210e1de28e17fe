// The tree behind the price of a launch (price.h): the same numbers, as they join.
#pragma once

#include "model/launch_work.h"
#include "model/part.h"
#include "model/price.h"

namespace assay::model {

// Pre: `price` is that of `work` on `m`, and finite. Its time is `price.seconds`.
Part launch_tree(const LaunchWork& work, const LaunchPrice& price, const Machine& m);

}  // namespace assay::model
