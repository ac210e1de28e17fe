// Charts as data: what a page draws with Chart.js. page.js knows the same fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/page/text.h"

namespace assay::page {

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

struct Interval {
  double x = 0, low = 0, high = 0;
};

struct Series {
  std::string name;
  std::vector<Estimate> line;  // ascending x
  std::vector<Dot> samples;    // as they were taken
  std::vector<Dot> waiting;    // samples during which our own threads were kept from running
  bool joined = true;          // whether the estimates are joined by a line; a NaN y interrupts it
  std::vector<Interval> intervals = {};  // of the samples: drawn where the reader asks for them
  bool reference = false;                // its line is what others are held against, drawn thin
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
  bool heat = false;   // its table of values is shown at once
  bool whole = false;  // the axes reach to every sample, also to rare large ones
  bool equal = false;  // both axes have one range, and the plot is a square
};

// For the page's script, not yet made safe for a <script> element.
std::string json_of(const std::vector<Chart>& charts);

// A canvas for the chart at `index` of the page's charts, with its title and method; `below`: HTML.
std::string figure(const Chart& c, size_t index, const std::string& below = "");

}  // namespace assay::page
