// Images that kernels read as texels: an array in the device's own layout, and a texture object
// without filtering.
#pragma once

#include "runtime/cuda/session.h"
#include "runtime/device.h"

namespace assay::runtime::cuda {

struct Image {
  Owned<Array> array;
  Owned<Texture> texture;  // after its array, so destroyed first
  ImageShape shape;
};

// Uninitialised. Errors: unsupported texels; larger than the device allows; out of memory.
Result<Image> make_image(const Session& session, const ImageShape& shape);

// Copies whole rows from or to the host. `offset` and `bytes` are multiples of a row.
Status copy_rows_in(const Session& session, const Image& image, int64_t offset, const void* from,
                    int64_t bytes);
Status copy_rows_out(const Session& session, const Image& image, int64_t offset, void* to,
                     int64_t bytes);

}  // namespace assay::runtime::cuda
