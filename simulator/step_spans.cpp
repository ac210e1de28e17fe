#include "simulator/step_spans.h"

#include <algorithm>
#include <optional>

namespace assay::simulator {

std::vector<StepSpan> step_spans(std::span<const ir::Command> schedule, size_t steps,
                                 std::span<const Slice> slices) {
  std::vector<std::optional<StepSpan>> found(steps);
  for (const Slice& s : slices) {
    const ir::Command& c = schedule[static_cast<size_t>(s.command)];
    if (c.kind != ir::Command::Kind::run) continue;
    std::optional<StepSpan>& span = found[static_cast<size_t>(c.step)];
    span = span ? StepSpan{std::min(span->begin, s.begin), std::max(span->end, s.end)}
                : StepSpan{s.begin, s.end};
  }
  std::vector<StepSpan> out;
  for (const std::optional<StepSpan>& span : found) out.push_back(span.value_or(StepSpan{}));
  return out;
}

}  // namespace assay::simulator
