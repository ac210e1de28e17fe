// Multiply-adds in every form that the dialect spells them in. Which of them a compiler makes one
// instruction of, and whether that is fast, is not documented. OpenCL promises nothing of mad or of
// a * b + c, and fma may be a function where there is no such instruction.
//
//   "<op>.<type> <form>"   blocks at {lanes, chains, place}; place: the form's position in the
//                          dialect's list, 0 is the usual one
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr const char* kForms = "forms";  // the experiment
// A fact: of a form that does not build, or computes something else.
inline constexpr const char* kRefused = "form_refused.";

struct FormRate {
  std::string name;
  int place = 0;
  // Its time over that of the best, with many concurrent chains and with one.
  double many = 1, one = 1;
};

struct FormsOf {
  std::string key;  // fma.f32
  std::vector<FormRate> rates;
  int best = 0;         // position in `rates`
  bool differ = false;  // some other form is certainly slower, with many chains and with one
};

std::vector<FormsOf> forms_of(const Observations& all);

// What kernels are to be written in, where it is not the usual form.
std::vector<hwdesc::NamedText> unusual_forms(const Observations& all);

}  // namespace assay::probe
