// Context's access to the attributes of the current node.
#include <fmt/format.h>

#include "compiler/import/context.h"

namespace assay::import {

using onnx::AttributeProto;

const AttributeProto* Context::find_attribute(std::string_view name) const {
  for (const AttributeProto& a : node_->attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

const AttributeProto* Context::attribute(std::string_view name,
                                         AttributeProto::AttributeType type) const {
  const AttributeProto* a = find_attribute(name);
  if (!a) return nullptr;
  if (!a->ref_attr_name().empty())
    refuse(fmt::format("attribute {} refers to a function's parameter", name));
  // Models before IR version 2 leave the type out.
  if (a->type() != type && a->type() != AttributeProto::UNDEFINED)
    refuse(fmt::format("attribute {} has type {}, expected {}", name,
                       AttributeProto::AttributeType_Name(a->type()),
                       AttributeProto::AttributeType_Name(type)));
  return a;
}

int64_t Context::int_attribute(std::string_view name, int64_t otherwise) const {
  const AttributeProto* a = attribute(name, AttributeProto::INT);
  return a ? a->i() : otherwise;
}

double Context::float_attribute(std::string_view name, double otherwise) const {
  const AttributeProto* a = attribute(name, AttributeProto::FLOAT);
  return a ? static_cast<double>(a->f()) : otherwise;
}

std::string Context::string_attribute(std::string_view name, std::string otherwise) const {
  const AttributeProto* a = attribute(name, AttributeProto::STRING);
  return a ? a->s() : otherwise;
}

Shape Context::ints_attribute(std::string_view name, Shape otherwise) const {
  const AttributeProto* a = attribute(name, AttributeProto::INTS);
  return a ? Shape(a->ints().begin(), a->ints().end()) : otherwise;
}

std::vector<double> Context::floats_attribute(std::string_view name) const {
  const AttributeProto* a = attribute(name, AttributeProto::FLOATS);
  return a ? std::vector<double>(a->floats().begin(), a->floats().end()) : std::vector<double>{};
}

std::vector<std::string> Context::strings_attribute(std::string_view name) const {
  const AttributeProto* a = attribute(name, AttributeProto::STRINGS);
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end())
           : std::vector<std::string>{};
}

const onnx::TensorProto* Context::tensor_attribute(std::string_view name) const {
  const AttributeProto* a = attribute(name, AttributeProto::TENSOR);
  return a ? &a->t() : nullptr;
}

}  // namespace assay::import
