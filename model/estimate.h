// What the model says of one program: a time with its interval, and every term behind it.
#pragma once

#include <string>
#include <vector>

#include "model/part.h"

namespace assay::model {

struct Term {        // one cost, seconds of the busiest unit
  std::string name;  // fma, load, l1<-l2, launch, ...
  double seconds = 0;
  std::string detail;  // counts and rates, for --explain
};

struct LevelUse {
  std::string boundary;  // "l1<-l2"
  double read_bytes = 0, written_bytes = 0, seconds = 0, working_set = 0;
  bool shared = false;  // the farther level is shared by units
};

// What a group takes of its unit while it runs.
struct GroupNeeds {
  double threads = 0, registers_per_thread = 0, scratch_bytes = 0;
};

struct Estimate {
  double seconds = 0, low = 0, high = 0;
  std::string bound;        // name of the largest term
  double bound_margin = 1;  // largest term / second largest
  std::vector<Term> terms;  // the largest shares, which overlap
  Part tree;                // the same as they add up; without parts where nobody asked for text
  std::vector<LevelUse> levels;
  double flops = 0;
  double groups = 1, rounds = 1, balance = 1;  // balance: mean load / largest load of the units
  double efficiency = 0;                       // the node's least time on this chip / seconds
  double occupancy = 1;                        // groups resident per unit
  GroupNeeds needs;                            // where lanes are threads
  std::vector<std::string> assumed;            // fields of the profile that were not known
};

// Adds seconds by name, `times` over; details are of one program and fall away.
void add_terms(std::vector<Term>& to, const std::vector<Term>& from, double times = 1);

// Adds bytes and seconds by boundary, `times` over.
void add_levels(std::vector<LevelUse>& to, const std::vector<LevelUse>& from, double times = 1);

}  // namespace assay::model
