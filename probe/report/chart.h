// Charts as data: what the report shows of the raw samples, by the table of charts (chart_table.h).
// An experiment that no row covers gets a chart against its most varied condition.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/known.h"
#include "probe/observation.h"
#include "probe/text.h"

namespace assay::probe {

struct Axis {
  std::string title;
  Kind kind = Kind::count;
  bool log = false;
};

struct Dot {
  double x = 0, y = 0;
};

// The estimate of all samples at one x.
struct Estimate {
  double x = 0, y = 0, low = 0, high = 0;
  int64_t n = 0;
};

struct Series {
  std::string name;
  std::vector<Estimate> line;  // ascending x
  std::vector<Dot> samples;    // as they were taken
  std::vector<Dot> waiting;    // samples during which our own threads were kept from running
  bool joined = true;          // whether the estimates are joined by a line; a NaN y interrupts it
};

// A band from x to x; a vertical line where both are the same.
struct Mark {
  std::string name;
  double from = 0, to = 0;
};

struct Chart {
  std::string section, title, method;
  Axis x, y;
  std::vector<std::string> names;  // bars at x = 0, 1, ...; empty: x is a number
  std::vector<Series> series;
  std::vector<Mark> marks;
  bool heat = false;  // its table of values is shown at once
};

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
