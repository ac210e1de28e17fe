// Dialect files: those of the library parse, and errors in others have their place.
#include "codegen/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::codegen {
namespace {

using ::testing::HasSubstr;

std::string changed(std::string_view from, std::string_view to) {
  std::string text(dialect_text("cpp"));
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string complaints(const std::string& text) {
  const auto d = parse_dialect(text, "d.yaml");
  return d.ok() ? "" : render(d.diags());
}

TEST(Dialect, all_of_the_library_parse) {
  EXPECT_THAT(dialect_names(), ::testing::Contains("cpp"));
  for (const std::string& name : dialect_names()) {
    const auto d = parse_dialect(dialect_text(name), name);
    ASSERT_TRUE(d.ok()) << render(d.diags());
    EXPECT_EQ(d->name, name);
    EXPECT_TRUE(d->capabilities.known);
    EXPECT_FALSE(d->capabilities.vector_widths.empty());
  }
  EXPECT_EQ(dialect_text("cppp"), "");
}

TEST(Dialect, unknown_words_are_named_with_their_place) {
  EXPECT_THAT(
      complaints(changed("  add: {text:", "  addd: {text:")),
      AllOf(HasSubstr("d.yaml:"), HasSubstr("unknown key 'addd'"),
            HasSubstr("hint: did you mean 'add'?"), HasSubstr("spelling 'add' is missing")));
  EXPECT_THAT(complaints(changed("{a:12} - {b:13}", "{a:12} - {x:13}")),
              HasSubstr("unknown hole {x}, expected: a, b"));
  EXPECT_THAT(complaints(changed("parameters: pointers", "parameters: pointer")),
              HasSubstr("'pointer', expected one of: pointers, blocks, attributes"));
  EXPECT_THAT(complaints(changed("  f64: {scalar", "  f65: {scalar")),
              HasSubstr("unknown element type 'f65'"));
  EXPECT_THAT(complaints(changed("when: [index_min]", "when: [index_mini]")),
              HasSubstr("'index_mini' is no spelling"));
  EXPECT_THAT(complaints(changed("level: 12", "level: 17")),
              HasSubstr("level '17', expected 0 to 16"));
}

std::string refusal(const Dialect& dialect, const std::vector<hwdesc::NamedText>& forms) {
  const auto d = in_forms(dialect, forms);
  return d.ok() ? "" : render(d.diags());
}

TEST(Dialect, forms_are_chosen_for_a_type) {
  const auto opencl = parse_dialect(dialect_text("opencl"), "opencl.yaml");
  ASSERT_TRUE(opencl.ok()) << render(opencl.diags());
  ASSERT_GT(opencl->forms.at("fma").size(), 1U);
  EXPECT_EQ(*opencl->find("fma"), opencl->forms.at("fma").front().text)
      << "the first, where nothing is said";
  const auto mad = in_forms(*opencl, std::vector<hwdesc::NamedText>{{"fma.f16", "mad"}});
  ASSERT_TRUE(mad.ok()) << render(mad.diags());
  EXPECT_EQ(
      fill(*mad->find("fma", ir::DType::f16), {{"a", {"x"}}, {"b", {"y"}}, {"c", {"z"}}}).text,
      "mad(x, y, z)");
  EXPECT_EQ(*mad->find("fma", ir::DType::f32), *opencl->find("fma"));
}

TEST(Dialect, unknown_forms_are_refused) {
  const auto opencl = parse_dialect(dialect_text("opencl"), "opencl.yaml"),
             c = parse_dialect(dialect_text("cpp"), "cpp.yaml");
  ASSERT_TRUE(opencl.ok() && c.ok());
  EXPECT_THAT(refusal(*opencl, {{"fma.f32", "madd"}}),
              AllOf(HasSubstr("dialect opencl has no form 'madd' of 'fma'"),
                    HasSubstr("it has: a*b+c, mad, fma")));
  EXPECT_THAT(refusal(*opencl, {{"exp.f32", "native"}}),
              AllOf(HasSubstr("spells 'exp' in one way alone"), HasSubstr("forms of: fma")));
  EXPECT_THAT(refusal(*c, {{"fma.f32", "mad"}}),
              HasSubstr("dialect cpp spells 'fma' in one way alone"));
  EXPECT_THAT(refusal(*opencl, {{"fma", "mad"}, {"fma.f33", "mad"}}),
              AllOf(HasSubstr("forms.fma: expected an operation and an element type"),
                    HasSubstr("forms.fma.f33: expected")));
  EXPECT_THAT(complaints(changed("  fma: {text: \"{a:13} * {b:15} + {c:13}\", level: 12}",
                                 "  fma: {forms: {mad: \"mad({x})\"}, text: x}")),
              AllOf(HasSubstr("unknown hole {x}"), HasSubstr("unknown key 'text'")));
  EXPECT_THAT(complaints(changed("  fma: {text: \"{a:13} * {b:15} + {c:13}\", level: 12}",
                                 "  fma: {forms: []}")),
              HasSubstr("expected a map of forms by name"));
}

TEST(Dialect, faulty_templates_are_named) {
  EXPECT_THAT(complaints(changed("-{a:16}", "-{a:16")), HasSubstr("a hole is not closed"));
  EXPECT_THAT(complaints(changed("-{a:16}", "-{a:16}}")), HasSubstr("a single '}'"));
  EXPECT_THAT(complaints(changed("-{a:16}", "-{a:x}")), HasSubstr("'x' is no level of binding"));
}

TEST(Template, puts_weak_operands_in_parentheses) {
  const auto t = parse_template("{a:12} - {b:13}", 12);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(fill(*t, {{"a", {"x + y", 12}}, {"b", {"x + y", 12}}}), (Text{"x + y - (x + y)", 12}));
  const auto braces = parse_template("({type}){{{items}}}", kCallLevel);
  ASSERT_TRUE(braces.ok());
  EXPECT_EQ(fill(*braces, {{"type", {"V"}}, {"items", {"1, 2", 0}}}).text, "(V){1, 2}");
}

}  // namespace
}  // namespace assay::codegen
