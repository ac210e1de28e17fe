// The rows of a table beside their estimates. Internal to toolkit/accuracy*.
#pragma once

#include <string>
#include <vector>

#include "toolkit/accuracy.h"
#include "toolkit/accuracy_intervals.h"
#include "toolkit/roofline.h"

namespace assay::toolkit {

struct Point {  // one row of a table
  double measured = 0, predicted = 0;
  RooflineInput roofline;
  std::string kind;
  Span interval;  // of measured / predicted, from the other devices
};

struct Measured {
  const ReferenceTable* table = nullptr;
  std::vector<Point> points;
  int64_t refused = 0;
};

// Of the points that took longer than `above` and up to `below`.
template <class Predict>
ErrorSummary summary(const std::vector<Point>& points, double above, double below,
                     const Predict& predict) {
  std::vector<double> predicted, measured;
  for (const Point& p : points) {
    if (p.measured <= above || p.measured > below) continue;
    predicted.push_back(predict(p));
    measured.push_back(p.measured);
  }
  return summary_of(predicted, measured);
}

bool covered(const Point& p);
double half_width(const Point& p);          // of the interval, relative to the estimate
double median(std::vector<double> values);  // the upper one of two. Pre: not empty

}  // namespace assay::toolkit
