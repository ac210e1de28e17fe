#include "hwdesc/schema.h"

#include <nlohmann/json.hpp>

#include "hwdesc/field_tree.h"
#include "hwdesc/profile.h"
#include "hwdesc/words.h"

namespace assay::hwdesc {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kName = "^[A-Za-z0-9_./-]+$";

std::string id_of(Dimension d) {
  const std::string name = name_of(d);  // "a size"
  return name.substr(name.find(' ') + 1);
}

// `GB/s` as a pattern; `@core` stands for any clock.
std::string unit_pattern(const std::string& unit) {
  const size_t at = unit.find('@');
  std::string out = unit.substr(0, at);
  if (out == "cycles") out = "cycles?";
  return at == std::string::npos ? out : out + "@[A-Za-z0-9_-]+";
}

// What parse_quantity reads, without a minus sign: number, space, unit.
Json quantity(Dimension d) {
  const std::string number = "\\+?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?";
  std::string units;
  for (const std::string& u : units_of(d)) units += (units.empty() ? "" : "|") + unit_pattern(u);
  if (units.empty())
    return {{"anyOf",
             Json::array({Json{{"type", "number"}, {"exclusiveMinimum", 0}},
                          Json{{"type", "string"}, {"pattern", "^(unknown|" + number + ")$"}}})}};
  return {{"type", "string"}, {"pattern", "^(unknown|" + number + " +(" + units + "))$"}};
}

Json reference(const std::string& definition) { return {{"$ref", "#/definitions/" + definition}}; }

Json record(Dimension d) {
  const Json bare = reference(id_of(d) + "-quantity"), text = {{"type", "string"}};
  const auto said = [](Json schema, const char* doc) {
    return schema.contains("$ref") ? Json{{"description", doc}, {"allOf", Json::array({schema})}}
                                   : (schema["description"] = doc, schema);
  };
  return {
      {"type", "object"},
      {"additionalProperties", false},
      {"required", Json::array({"value"})},
      {"properties",
       {{"value", said(bare, "the quantity, or unknown")},
        {"low", said(bare, "lower end of the 90 % interval")},
        {"high", said(bare, "upper end of the 90 % interval")},
        {"n",
         {{"type", "integer"}, {"minimum", 0}, {"description", "samples behind a measured value"}}},
        {"source", {{"enum", words<Origin>()}, {"description", "where the number comes from"}}},
        {"method", said(text, "how it was found")},
        {"ref", said(text, "a key of `references`")},
        {"note", said(text, "what a reader should know")}}}};
}

Json fields_schema(const std::vector<FieldNode>& fields, bool entry);

Json any_name_to(Json schema) {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", kName}}},
          {"additionalProperties", std::move(schema)}};
}

Json field_schema(const FieldNode& f);

// A map, or its bare field.
Json map_schema(const FieldNode& f, bool entry) {
  Json map = fields_schema(f.fields, entry);
  for (const FieldNode& inner : f.fields)
    if (inner.key == f.bare_key)
      return {{"anyOf", Json::array({inner.kind == FieldKind::value
                                         ? reference(id_of(inner.dimension) + "-quantity")
                                         : field_schema(inner),
                                     map})}};
  return map;
}

Json field_schema(const FieldNode& f) {
  switch (f.kind) {
    case FieldKind::value:
      return reference(id_of(f.dimension));
    case FieldKind::word:
      return f.names_entry ? Json{{"type", "string"}, {"pattern", kName}}
                           : Json{{"type", "string"}};
    case FieldKind::number:
      return {{"type", "integer"}, {"minimum", 0}};
    case FieldKind::choice:
      return {{"enum", f.choices}};
    case FieldKind::fact:
      return {{"enum", Json::array({true, false, "unknown"})}};
    case FieldKind::words:
      return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case FieldKind::texts:
      return any_name_to({{"type", Json::array({"string", "number", "boolean"})}});
    case FieldKind::values:
      return any_name_to(reference(id_of(f.dimension)));
    case FieldKind::part:
      return map_schema(f, false);
    case FieldKind::entries:
      return {{"type", "array"}, {"items", map_schema(f, true)}};
    case FieldKind::named:
      return any_name_to(map_schema(f, true));
  }
  return Json::object();
}

// In draft 7 a $ref hides its neighbours, so a described one stands in allOf.
Json described(const FieldNode& f) {
  Json out = {{"description", f.doc}};
  Json schema = field_schema(f);
  if (schema.contains("$ref"))
    out["allOf"] = Json::array({std::move(schema)});
  else
    out.update(schema);
  return out;
}

// Required: the keys of an entry. A parent may give the other required fields (see `strict`).
Json fields_schema(const std::vector<FieldNode>& fields, bool entry) {
  Json out = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  for (const FieldNode& f : fields) {
    out["properties"][f.key] = described(f);
    if (entry && f.names_entry) out["required"].push_back(f.key);
  }
  return out;
}

// A schema of only the fields that a profile without a parent must give; null: none.
Json strict(const std::vector<FieldNode>& fields) {
  Json out;
  for (const FieldNode& f : fields) {
    if (f.required && !f.names_entry) out["required"].push_back(f.key);
    Json below = strict(f.fields);
    if (below.is_null()) continue;
    if (f.kind == FieldKind::entries) below = {{"items", below}};
    if (f.kind == FieldKind::named) below = {{"additionalProperties", below}};
    out["properties"][f.key] = below;
  }
  return out;
}

}  // namespace

std::string profile_schema() {
  const std::vector<FieldNode> tree = field_tree();
  Json root = {{"$schema", "http://json-schema.org/draft-07/schema#"},
               {"$id", "urn:assay:profile:1"},
               {"title", "assay/profile/1"},
               {"description",
                "What a chip is: numbers with unit and origin, for predicting how fast programs "
                "run on it."}};
  root.update(fields_schema(tree, false));
  Json& properties = root["properties"];
  properties["schema"] = {{"const", "assay/profile/1"},
                          {"description", "the format and its version"}};
  properties["extends"] = {
      {"type", "string"},
      {"description",
       "the profile this one begins with: a file beside it, or a name of the library"}};
  properties["overrides"] = {
      {"type", "array"},
      {"items", {{"type", "string"}, {"pattern", "^[^=]+=.+$"}}},
      {"description", "changes applied last: path=value, path*=number, path+=value"}};
  root["required"] = Json::array({"schema"});
  root["if"]["required"] = Json::array({"extends"});
  root["else"] = strict(tree);
  for (const Dimension d : {Dimension::bytes, Dimension::count, Dimension::hertz, Dimension::watts,
                            Dimension::joules, Dimension::seconds, Dimension::ratio,
                            Dimension::rate, Dimension::bandwidth, Dimension::latency}) {
    root["definitions"][id_of(d) + "-quantity"] = quantity(d);
    root["definitions"][id_of(d)] = {
        {"anyOf", Json::array({reference(id_of(d) + "-quantity"), record(d)})}};
  }
  return root.dump(2) + "\n";
}

}  // namespace assay::hwdesc
