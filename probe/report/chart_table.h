// The table of charts, a file per subject: which quantity of which experiments stands against which
// condition, and how it was measured.
#pragma once

#include <utility>
#include <vector>

#include "probe/inference/stats.h"
#include "probe/report/chart.h"

namespace assay::probe {

enum class Show { time, rate, lanes_rate };  // the sample as it is, 1 / sample, lanes / sample

struct Samples {
  const char* experiments;  // names, separated by blanks
  const char* quantities;   // of them; "": all
};

struct Against {
  const char* condition = "";  // "": bars, one for each quantity
  Axis axis = {};
  const char* series = "";  // conditions that make series of their own, besides the quantity
};

struct ChartRow {
  const char* title;
  Samples samples;
  Against x;
  Axis y;
  Show show;
  Estimator estimator;
  const char* method;
  const char* section = "";
  void (*mark)(const Source&, Chart&) = nullptr;
  bool heat = false;
  bool separate = false;  // points of different levels: no line joins them
};

inline Axis linear_axis(const char* title, Kind kind) { return {title, kind, false}; }
inline Axis log_axis(const char* title, Kind kind) { return {title, kind, true}; }

// Times as they are, by the quantile for latencies or for throughputs; rates.
inline ChartRow latency_chart(const char* title, Samples of, Against x, Axis y,
                              const char* method) {
  return {title, of, std::move(x), std::move(y), Show::time, Estimator::latency, method};
}
inline ChartRow duration_chart(const char* title, Samples of, Against x, Axis y,
                               const char* method) {
  return {title, of, std::move(x), std::move(y), Show::time, Estimator::throughput, method};
}
inline ChartRow rate_chart(const char* title, Samples of, Against x, Axis y, const char* method) {
  return {title, of, std::move(x), std::move(y), Show::rate, Estimator::throughput, method};
}
inline ChartRow lanes_rate_chart(const char* title, Samples of, Against x, Axis y,
                                 const char* method) {
  return {title, of, std::move(x), std::move(y), Show::lanes_rate, Estimator::throughput, method};
}

inline ChartRow marked(void (*mark)(const Source&, Chart&), ChartRow row) {
  row.mark = mark;
  return row;
}
inline ChartRow separate(ChartRow row) {
  row.separate = true;
  return row;
}
inline ChartRow heat_map(ChartRow row) {
  row.heat = true;
  return row;
}

inline std::vector<ChartRow> in_section(const char* section, std::vector<ChartRow> rows) {
  for (ChartRow& row : rows) row.section = section;
  return rows;
}

// Latencies of caches, translation, constants and images.
std::vector<ChartRow> latency_charts();
// Bandwidths of caches, far memory, scratchpads and images.
std::vector<ChartRow> bandwidth_charts();
// Arithmetic, occupancy, power.
std::vector<ChartRow> compute_charts();
// Clocks, branches, barriers, code, launches.
std::vector<ChartRow> control_charts();

}  // namespace assay::probe
