// A plan as a picture: the text that Graphviz draws. A step is a box in a colour around its nodes,
// with its time; edges say where their tensors lie. Internal to toolkit/.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"
#include "toolkit/plan_graph.h"

namespace assay::toolkit {

struct PlanPicture {
  std::string
      id;  // box of step 3, counted from 1: `id_3`, as Graphviz writes no other mark plainly
  std::vector<std::string> times;  // per step
  // Per step, a number below kStepColours: the class of its box is `step-colour-N`.
  std::vector<int> colours;
  std::vector<Repeats> repeats;  // of which the first repetition is drawn
};

inline constexpr int kStepColours = 7;

// In the language of Graphviz. Names are written so that neither it nor a browser takes them for
// more than text.
std::string dot_text(const DrawnPlan& plan, const PlanPicture& picture);

}  // namespace assay::toolkit
