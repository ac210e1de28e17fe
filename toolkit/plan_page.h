// The page of a compiled model, from what was found out about it. Pure. Internal to toolkit/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "toolkit/bundle.h"

namespace assay::toolkit {

// One of the two plans that are shown.
struct PagePlan {
  const ir::Plan& plan;
  std::span<const model::Estimate> estimates;  // per step
  const model::Estimate& total;
  std::vector<model::LevelUse> traffic;
  std::string picture;       // an <svg> element
  std::vector<int> colours;  // per step, as in PlanPicture
  std::vector<int> boxes;    // per step, the step whose box is drawn for it
};

struct PlanPage {
  const Bundle& bundle;
  std::string before_is;  // what a step of the plan before is
  PagePlan before, after;
  std::string schedule = {};  // an <svg> element of the units of `after` in time; "": none
  compiler::ScheduleBounds bounds = {};  // of `after`
};

std::string plan_page(const PlanPage& page);

}  // namespace assay::toolkit
