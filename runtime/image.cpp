#include <fmt/format.h>

#include "ir/element.h"
#include "runtime/device.h"

namespace assay::runtime {

std::string format_name(const ImageShape& shape) {
  const char* const numbers = shape.texel == 1 ? "r" : shape.texel == 2 ? "rg" : "rgba";
  if (shape.stored == Stored::unorm8) return fmt::format("{}8", numbers);
  return fmt::format("{}{}{}", numbers, 8 * shape.number_bytes(),
                     ir::is_integer(shape.dtype) ? "i" : "f");
}

}  // namespace assay::runtime
