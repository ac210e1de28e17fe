// Loads of a stream through an access path: constants, images.
#include <algorithm>
#include <cstring>

#include "runtime/virtual/executor.h"

namespace assay::runtime::simulated {
namespace {

template <class T>
double sum_of(const std::byte* from, int texel) {
  std::array<T, 4> n{};
  std::memcpy(n.data(), from, sizeof(T) * static_cast<size_t>(texel));
  return static_cast<double>(texel == 2 ? n[0] + n[1] : (n[0] + n[1]) + (n[2] + n[3]));
}

}  // namespace

// One access per different line.
double Executor::through_path(const Op& op, int path, double start) {
  const ir::Buffer& b = code_.buffers[static_cast<size_t>(op.buffer)];
  const int size = b.texel * ir::bytes_of(b.dtype);
  const View& view = views_[static_cast<size_t>(op.buffer)];
  const Paths& paths = *machine_.paths;
  const int line = paths.line(path);
  std::vector<std::pair<int64_t, int64_t>> wanted;  // line, byte
  const bool one = consecutive_ && stride_ == 0;
  for (int l = 0; l < (one ? 1 : op.count); ++l) {
    if (!one && !is_active(l)) continue;
    const int64_t element = consecutive_ ? at_[0] + l * stride_ : at_[static_cast<size_t>(l)];
    const int64_t byte =
        view.address +
        (b.space == ir::Space::image ? paths.place(path, element, b.row) : element) * size;
    wanted.emplace_back(byte / line, byte);
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  double done = start;
  for (size_t i = 0, end = 0; i < wanted.size(); i = end) {
    while (end < wanted.size() && wanted[end].first == wanted[i].first) ++end;
    done = std::max(done, machine_.paths->access(path, machine_.hierarchy, port_, wanted[i].second,
                                                 static_cast<int>(end - i) * size, start));
  }
  return done;
}

void Executor::sum_texels(const Op& op) {
  const ir::Buffer& b = code_.buffers[static_cast<size_t>(op.buffer)];
  const std::byte* memory = views_[static_cast<size_t>(op.buffer)].data;
  const auto size = static_cast<int64_t>(b.texel) * ir::bytes_of(b.dtype);
  registers_.spread(op.dst);
  for (int l = 0; l < op.count; ++l) {
    if (!is_active(l)) continue;
    const std::byte* from =
        memory + (consecutive_ ? at_[0] + l * stride_ : at_[static_cast<size_t>(l)]) * size;
    registers_.set_value(
        op.dst, l,
        b.dtype == ir::DType::f32 ? sum_of<float>(from, b.texel) : sum_of<int32_t>(from, b.texel));
  }
  registers_.set_uniform(op.dst, false);
}

// With an unknown border mode, the image repeats.
bool Executor::positions_of_texels(const Op& op) {
  const ir::Buffer& b = code_.buffers[static_cast<size_t>(op.buffer)];
  const int64_t rows = views_[static_cast<size_t>(op.buffer)].elements / b.row;
  const Path* const path = find_path(machine_.chip, b.space);
  const hwdesc::Border border = path == nullptr ? hwdesc::Border::unknown : path->border;
  const auto inside = [&](int64_t at, int64_t extent) {
    return border == hwdesc::Border::unknown ? (at % extent + extent) % extent
                                             : std::clamp<int64_t>(at, 0, extent - 1);
  };
  consecutive_ = false;
  for (int l = 0; l < op.count; ++l) {
    if (!is_active(l)) continue;
    const int64_t x = registers_.integer(op.a, l), y = registers_.integer(op.b, l),
                  column = inside(x, b.row), row = inside(y, rows);
    if (border == hwdesc::Border::zero && (x != column || y != row)) zeros_.push_back(l);
    at_[static_cast<size_t>(l)] = row * b.row + column;
  }
  return true;
}

}  // namespace assay::runtime::simulated
