// The tree behind an estimate: parts, how they join, and the profile values that each rests on.
#pragma once

#include <string>
#include <vector>

namespace assay::model {

struct Quantity;

// A value of the profile, or what stands for an unknown one.
struct Basis {
  std::string path, value;  // "memory.l2.latency", "4.67 ns"
  bool assumed = false;
};

struct Part {
  enum class Joins { leaf, sum, longest, overlap };  // overlap: the p-norm of overlap.h
  std::string name;
  Joins joins = Joins::leaf;
  // Of a leaf: its time, below 0 where another part has counted it already. Else what the parts
  // join to, `times` over.
  double seconds = 0;
  double times = 1;
  std::string detail;
  std::vector<Basis> basis;
  std::vector<Part> parts;
};

Part leaf(std::string name, double seconds, std::string detail = "", std::vector<Basis> basis = {});

// Without leaves of no time. One part alone stands for itself where it happens once.
Part join(std::string name, Part::Joins how, std::vector<Part> parts, double times = 1);

// The time of the part, by its leaves alone.
double time_of(const Part& part);

Basis rate_of(const Quantity& q);       // 1.2 T/s
Basis bandwidth_of(const Quantity& q);  // 3.35 TB/s
Basis duration_of(const Quantity& q);   // 420 ns
Basis power_of(const Quantity& q);      // 700 W

}  // namespace assay::model
