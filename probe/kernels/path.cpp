// Kernels of constants and images: chases and reads.
#include "probe/kernels/path.h"

#include <fmt/format.h>

#include <utility>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"

namespace assay::probe {
namespace {

using ir::DType;

int add_argument(ir::Kernel& k, const char* name, DType type, ir::Space space, int64_t elements,
                 int texel, int64_t row = kImageRow) {
  const int id = code::add_buffer(k, name, type, false);
  ir::Buffer& b = k.buffers[static_cast<size_t>(id)];
  b.space = space;
  b.elements = elements;
  b.texel = space == ir::Space::image ? texel : 1;
  b.row = space == ir::Space::image ? row : 0;
  return id;
}

}  // namespace

ir::Kernel path_chase(ir::Space space, int64_t elements, int lanes) {
  ir::Kernel k = code::empty("path_chase");
  const int nodes = add_argument(k, "nodes", DType::i32, space, elements, 1);
  const int state = code::add_buffer(k, "state", DType::i32, true),
            parameters = code::add_parameters(k);
  const int p = code::add_register(k, "p", DType::i32, lanes);
  k.body.push_back(code::declare(p, 1));
  k.body.push_back(code::set(p, code::load(state, ir::constant(0), DType::i32, lanes)));
  ir::Value hop = code::apply(ir::ValueOp::indirect, {code::reg(k, p)});
  hop.id = nodes;
  ir::Block body;
  code::repeat(body, kPathHops, {code::set(p, hop)});
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations),
            i = code::add_index(k, "i");
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(body)));
  k.body.push_back(code::store(state, ir::constant(0), code::reg(k, p)));
  return k;
}

std::string path_read_name(int texel) {
  return texel > 0 ? fmt::format("image_read_{}", texel) : "image_plain";
}

// for pass < passes, for step < steps: kPathReads vectors of the group's part; each value is kept,
// so that no read is removed.
ir::Kernel path_read(int texel, int64_t texels, int lanes) {
  ir::Kernel k = code::empty(path_read_name(texel));
  const int from = add_argument(k, "from", DType::f32,
                                texel > 0 ? ir::Space::image : ir::Space::plain, texels, texel);
  const int parameters = code::add_parameters(k),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(value, 1));
  const int64_t stretch = kPathReads * lanes, most = texels / stretch;
  const int passes = code::parameter(k, "passes", parameters, ir::constant(0), kMaxPasses);
  const int steps = code::parameter(k, "steps", parameters, ir::constant(1), most);
  const int first = code::parameter(k, "first", parameters, ir::variable(0) + 2, most);
  const int pass = code::add_index(k, "pass"), step = code::add_index(k, "step");
  ir::Block body;
  for (int64_t n = 0; n < kPathReads; ++n) {
    body.push_back(code::set(
        value,
        code::load(from, ir::variable(first, stretch) + ir::variable(step, stretch) + n * lanes,
                   DType::f32, lanes)));
    body.push_back(code::keep(value));
  }
  ir::Block inner = {code::loop(step, most, ir::variable(steps), std::move(body))};
  k.body.push_back(code::loop(pass, kMaxPasses, ir::variable(passes), std::move(inner)));
  return k;
}

std::string image_touch_name(int texel) { return fmt::format("image_touch_{}", texel); }

ir::Kernel image_touch(int texel, DType type) {
  ir::Kernel k = code::empty(image_touch_name(texel));
  const int image = add_argument(k, "image", type, ir::Space::image, kBorderColumns * kBorderRows,
                                 texel, kBorderColumns);
  const int columns = code::add_buffer(k, "columns", DType::i32, false),
            rows = code::add_buffer(k, "rows", DType::i32, false);
  const int answers = code::add_buffer(k, "answers", type, true), i = code::add_index(k, "i");
  ir::Value read =
      code::apply(ir::ValueOp::indirect, {code::load(columns, ir::variable(i), DType::i32, 1),
                                          code::load(rows, ir::variable(i), DType::i32, 1)});
  read.id = image;
  read.dtype = type;
  const auto touches = static_cast<int64_t>(kTouches.size());
  for (const int b : {columns, rows, answers}) k.buffers[static_cast<size_t>(b)].elements = touches;
  k.body.push_back(code::loop(i, touches, ir::constant(touches),
                              {code::store(answers, ir::variable(i), std::move(read))}));
  return k;
}

}  // namespace assay::probe
