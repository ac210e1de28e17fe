// Weights that lie in files beside the model, as torch writes them.
//
// A TensorProto names the file, where its bytes begin there and how many they are. The caller reads
// files (OnnxOptions::external_file); a file is asked for once. Checksums are not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/import/import_onnx.h"
#include "compiler/import/proto.h"

namespace assay::import {

class ExternalData {  // invariant: files_ holds every file that was asked for
 public:
  explicit ExternalData(const ExternalFile& open) : open_(open) {}

  // The bytes of a tensor, `size` by its shape. Refuses a place outside of the file. The refusal is
  // empty when the file can not be read: `faults` says so once for all tensors.
  std::span<const std::byte> bytes_of(const onnx::TensorProto& t, int64_t size);

  Diags faults() const;

 private:
  struct File {
    std::span<const std::byte> bytes;
    Diags faults;
    std::vector<std::string> missed;  // tensors that lie there, if it can not be read
  };
  const ExternalFile& open_;
  std::map<std::string, File> files_;
};

}  // namespace assay::import
