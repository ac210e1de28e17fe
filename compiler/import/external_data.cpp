#include "compiler/import/external_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "compiler/import/context.h"

namespace assay::import {
namespace {

constexpr size_t kMostNamed = 3;

std::string text_of(const onnx::TensorProto& t, std::string_view key) {
  for (const onnx::StringStringEntryProto& entry : t.external_data())
    if (entry.key() == key) return entry.value();
  return "";
}

std::optional<int64_t> number_of(const onnx::TensorProto& t, std::string_view key) {
  const std::string text = text_of(t, key);
  if (text.empty()) return std::nullopt;
  int64_t value = -1;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || value < 0)
    refuse(fmt::format("tensor {}: its {} in an external file is '{}', expected a number of bytes",
                       t.name(), key, text));
  return value;
}

std::string listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace

std::span<const std::byte> ExternalData::bytes_of(const onnx::TensorProto& t, int64_t size) {
  const std::string location = text_of(t, "location");
  if (location.empty())
    refuse(fmt::format("tensor {} lies in an external file that is not named", t.name()));
  if (!open_)
    refuse(fmt::format("tensor {} lies in the external file {}", t.name(), location),
           "save the model as one file");
  const int64_t offset = number_of(t, "offset").value_or(0);
  if (const auto length = number_of(t, "length"); length && *length != size)
    refuse(fmt::format("tensor {} has {} bytes of data, its shape [{}] needs {}", t.name(), *length,
                       fmt::join(t.dims(), ", "), size));
  const auto [at, fresh] = files_.try_emplace(location);
  File& file = at->second;
  if (fresh) {
    const Result<std::span<const std::byte>> bytes = open_(location);
    if (bytes)
      file.bytes = *bytes;
    else
      file.faults = bytes.diags();
  }
  if (!file.faults.empty()) {
    file.missed.push_back(t.name());
    refuse("");
  }
  const int64_t whole = static_cast<int64_t>(file.bytes.size());
  if (offset > whole || size > whole - offset)
    refuse(fmt::format("tensor {} takes {} bytes from byte {} of {} on, which has {} bytes",
                       t.name(), size, offset, location, whole),
           "the file is cut, or belongs to another model");
  return file.bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
}

Diags ExternalData::faults() const {
  Diags all;
  for (const auto& [location, file] : files_)
    for (Diag d : file.faults) {
      const std::string what = fmt::format(
          "{} of the model {}: {}",
          file.missed.size() == 1 ? "a tensor" : fmt::format("{} tensors", file.missed.size()),
          file.missed.size() == 1 ? "lies there" : "lie there", listed(file.missed));
      d.hint = d.hint.empty() ? what : fmt::format("{}; {}", what, d.hint);
      all.push_back(std::move(d));
    }
  return all;
}

}  // namespace assay::import
