// What the report shows of the raw samples, by the table of charts (chart_table.h).
// An experiment that no row covers gets a chart against its most varied condition.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"
#include "support/page/chart.h"
#include "support/page/text.h"

namespace assay::probe {

using page::Axis;
using page::Chart;
using page::Dot;
using page::Estimate;
using page::html;
using page::human;
using page::Kind;
using page::Mark;
using page::Series;

struct Source {
  const Observations& all;
  const hwdesc::Profile& profile;
  Known known;
};

// In the order of the table, uncovered experiments last. Charts without a sample are left out.
std::vector<Chart> charts_of(const Source& source);

// How quiet the machine was, block by block in the order of the journal: the sentinel's clock, the
// share that others used, how long our threads waited.
std::vector<Chart> drift_of(const Source& source);

}  // namespace assay::probe
