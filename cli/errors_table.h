// Errors of sets of programs as rows of a table.
#pragma once

#include <string>
#include <vector>

#include "toolkit/validate_score.h"

namespace assay::cli {

std::string plain(const toolkit::Figure& f);  // 0.92, or -
std::string share(const toolkit::Figure& f);  // 12.3 %, or -
std::string signed_share(const toolkit::Figure& f);

// Sets of programs by how they were drawn.
struct ErrorSet {
  const char* name;
  toolkit::Errors toolkit::Score::*errors;
};
inline constexpr ErrorSet kSets[] = {{"first choices", &toolkit::Score::first},
                                     {"model's best tenth", &toolkit::Score::best_tenth},
                                     {"drawn from all legal", &toolkit::Score::uniform},
                                     {"all", &toolkit::Score::all}};

std::vector<std::string> errors_heading();
std::vector<std::string> errors_row(const std::string& name, const toolkit::Errors& e);

}  // namespace assay::cli
