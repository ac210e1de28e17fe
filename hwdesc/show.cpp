#include "hwdesc/show.h"

#include "hwdesc/any_value.h"
#include "hwdesc/walk.h"
#include "hwdesc/words.h"

namespace assay::hwdesc {

namespace {

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

std::string text_or(const std::optional<Quantity>& q, Dimension d, const char* otherwise) {
  return q ? print_quantity(q->v, q->clock, d) : otherwise;
}

std::string base_unit(Dimension d, const std::string& clock) {
  const std::string tick = clock.empty() ? "s" : "cycle@" + clock;
  switch (d) {
    case Dimension::bytes:
      return "B";
    case Dimension::hertz:
      return "Hz";
    case Dimension::watts:
      return "W";
    case Dimension::joules:
      return "J";
    case Dimension::seconds:
      return "s";
    case Dimension::rate:
      return "/" + tick;
    case Dimension::bandwidth:
      return "B/" + tick;
    case Dimension::latency:
      return clock.empty() ? "s" : "cycles@" + clock;
    case Dimension::count:
    case Dimension::ratio:
      break;
  }
  return "1";
}

std::optional<double> number_of(const std::optional<Quantity>& q) {
  return q ? std::optional(q->v) : std::nullopt;
}

FieldRow value_row(const AnyValue& v, Origin otherwise) {
  FieldRow row;
  row.value = text_or(v.value, v.dimension, "unknown");
  if (v.low || v.high)
    row.interval = text_or(v.low, v.dimension, "") + " .. " + text_or(v.high, v.dimension, "");
  if (v.value || v.source) row.origin = word_of(v.source.value_or(otherwise));
  row.method = v.method;
  row.ref = v.ref;
  row.note = v.note;
  row.unit = base_unit(v.dimension, v.value ? v.value->clock : "");
  row.number = number_of(v.value);
  row.low = number_of(v.low);
  row.high = number_of(v.high);
  return row;
}

template <class M>
std::string word_text(const M& member) {
  if constexpr (AWord<M>)
    return member;
  else if constexpr (ANumber<M>)
    return std::to_string(member);
  else if constexpr (WordList<M>)
    return join(member);
  else
    return word_of(member);
}

}  // namespace

std::vector<FieldRow> rows(const Profile& profile) {
  std::vector<FieldRow> out;
  walk(profile, [&](const Path& path, const auto& member) {
    using M = std::remove_cvref_t<decltype(member)>;
    if (member == M{}) return;
    FieldRow row;
    if constexpr (AValue<M>)
      row = value_row(to_any(member), profile.source);
    else
      row.value = word_text(member);
    row.path = dotted(path);
    out.push_back(std::move(row));
  });
  return out;
}

std::vector<std::string> all_paths(const Profile& profile) {
  std::vector<std::string> out;
  walk(profile, [&](const Path& path, const auto&) { out.push_back(dotted(path)); });
  return out;
}

}  // namespace assay::hwdesc
