// Images that kernels read as texels: an array in an order that is the device's own, and the object
// through which it is read, without filtering.
#pragma once

#include "runtime/cuda/session.h"
#include "runtime/device.h"

namespace assay::runtime::cuda {

struct Image {
  Owned<Array> array;
  Owned<Texture> texture;  // after its array, so destroyed first
  ImageShape shape;
};

// Not filled. Errors: the device has no such texels, or allows less; out of memory.
Result<Image> make_image(const Session& session, const ImageShape& shape);

// So many bytes, of whole rows, from the host or to it; the offset is in the image's rows.
Status copy_rows_in(const Session& session, const Image& image, int64_t offset, const void* from,
                    int64_t bytes);
Status copy_rows_out(const Session& session, const Image& image, int64_t offset, void* to,
                     int64_t bytes);

}  // namespace assay::runtime::cuda
