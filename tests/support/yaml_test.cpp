// The strict YAML reader: places, and hostile text.
#include "support/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace assay::yaml {
namespace {

std::string complaints(std::string_view text) {
  const auto doc = parse(text, "t.yaml");
  return doc.ok() ? "" : render(doc.diags());
}

TEST(Yaml, keeps_places_tags_and_quotes) {
  const auto doc = parse("a: 1\nb:\n  - {c: \"x\"}\n  - !remove y\n", "t.yaml");
  ASSERT_TRUE(doc.ok()) << render(doc.diags());
  const Node* b = doc->root.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->items.size(), 2u);
  EXPECT_EQ(b->items[0].line, 3);
  EXPECT_EQ(b->items[0].col, 5);
  EXPECT_TRUE(b->items[0].find("c")->quoted);
  EXPECT_EQ(b->items[1].tag, "!remove");
  EXPECT_EQ(b->items[1].scalar, "y");
  EXPECT_EQ(doc->root.find("z"), nullptr);
}

TEST(Yaml, duplicate_keys_are_all_reported) {
  EXPECT_EQ(complaints("a: 1\nb: {x: 1, x: 2}\na: 3\n"),
            "t.yaml:2:11: error: duplicate key 'x'\n"
            "  b: {x: 1, x: 2}\n"
            "            ^\n"
            "hint: it is first given in line 2\n"
            "t.yaml:3:1: error: duplicate key 'a'\n"
            "  a: 3\n"
            "  ^\n"
            "hint: it is first given in line 1\n");
}

TEST(Yaml, tabs_indent_nothing) {
  EXPECT_EQ(complaints("a:\n\tb: 1\n"),
            "t.yaml:2:1: error: a tab in the indentation\n"
            "  \tb: 1\n"
            "  ^\n"
            "hint: indent with spaces\n");
}

TEST(Yaml, text_that_is_none) {
  EXPECT_EQ(complaints(""), "t.yaml:1:1: error: the document is empty\n");
  EXPECT_NE(complaints("a: \xff\n").find("t.yaml:1:4: error: not UTF-8\n"), std::string::npos);
  EXPECT_NE(complaints("a: \xC0\xAF\n").find("not UTF-8"), std::string::npos);
  EXPECT_NE(complaints(std::string_view("a: \0b\n", 6)).find("a control character"),
            std::string::npos);
  EXPECT_NE(complaints("a: 1\n---\nb: 2\n").find("a second document"), std::string::npos);
}

TEST(Yaml, truncated_text) {
  EXPECT_NE(complaints("a: {b: 1, c: [1, 2").find("t.yaml:"), std::string::npos);
  EXPECT_NE(complaints("a: \"open").find("t.yaml:"), std::string::npos);
}

TEST(Yaml, unknown_tags_and_complex_keys) {
  EXPECT_NE(complaints("a: !!binary xx\n").find("unknown tag"), std::string::npos);
  EXPECT_NE(complaints("? [a]\n: 1\n").find("a key must be a word"), std::string::npos);
}

TEST(Yaml, depth_is_bounded) {
  const std::string bomb(100000, '[');
  EXPECT_NE(complaints(bomb).find("nested deeper than 64 levels"), std::string::npos);
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 200; ++i)
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  EXPECT_NE(complaints(chain).find("nested deeper than 64 levels"), std::string::npos);
}

TEST(Yaml, a_billion_laughs_stay_few) {
  std::string text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 0; k < 9; ++k) text += ", " + last;
    text += "]\n";
  }
  EXPECT_NE(complaints(text).find("nodes once aliases are expanded"), std::string::npos);
}

TEST(Yaml, one_large_scalar_repeated_is_bounded) {
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb: [";
  for (int i = 0; i < 1000; ++i) text += "*a, ";
  EXPECT_NE(complaints(text + "]\n").find("MiB once aliases are expanded"), std::string::npos);
}

TEST(Yaml, aliases_repeat_and_never_contain_themselves) {
  const auto doc = parse("a: &x {k: 1}\nb: *x\n", "t.yaml");
  ASSERT_TRUE(doc.ok());
  EXPECT_EQ(doc->root.find("b")->find("k")->scalar, "1");
  EXPECT_NE(complaints("a: &x [*x]\n").find("an alias inside the node that it names"),
            std::string::npos);
}

TEST(Yaml, quoted_text_reads_back) {
  EXPECT_TRUE(rc::check("parse(quote(s)) == s", [](std::string s) {
    for (char& c : s) c = static_cast<char>(c & 0x7F);
    for (const std::string& text : {"k: " + quote(s) + "\n", "k: {a: [" + quote(s) + "]}\n"}) {
      const auto doc = parse(text, "t.yaml");
      RC_ASSERT(doc.ok());
      const Node* k = doc->root.find("k");
      RC_ASSERT((k->kind == Node::Kind::map ? k->find("a")->items[0].scalar : k->scalar) == s);
    }
  }));
}

TEST(Yaml, quotes_only_what_needs_it) {
  EXPECT_EQ(quote("a+b"), "a+b");
  EXPECT_EQ(quote("NVIDIA A100 (40 GB)"), "NVIDIA A100 (40 GB)");
  EXPECT_EQ(quote("a: b"), "\"a: b\"");
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote("null"), "\"null\"");
  EXPECT_EQ(quote("x\ny"), "\"x\\ny\"");
}

TEST(Yaml, any_bytes_are_read_or_refused) {
  EXPECT_TRUE(rc::check("no bytes crash the reader", [](std::string bytes) {
    for (const std::string& text : {bytes, "a: [" + bytes + "]\n", "{x: &y " + bytes}) {
      const auto doc = parse(text, "t.yaml");
      const bool answered = doc.ok() || has_error(doc.diags());
      RC_ASSERT(answered);
    }
  }));
}

}  // namespace
}  // namespace assay::yaml
