#include "support/page/page.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "support/page/assets.h"

namespace assay::page {
namespace {

std::string section_id(const std::string& title) {
  std::string out;
  for (const char c : title) out += c == ' ' || c == ',' || c == '/' ? '-' : c;
  return out;
}

// One pass: inserted text is not searched for places again.
std::string filled(std::string_view frame, const std::map<std::string, std::string_view>& places) {
  std::string out;
  for (size_t at = 0; at < frame.size();) {
    const size_t open = frame.find("{{", at), close = frame.find("}}", open);
    if (open == std::string_view::npos || close == std::string_view::npos)
      return out + std::string(frame.substr(at));
    out += frame.substr(at, open - at);
    out += places.at(std::string(frame.substr(open + 2, close - open - 2)));
    at = close + 2;
  }
  return out;
}

std::string body_of(const std::vector<Section>& sections) {
  std::string links, out;
  for (const Section& s : sections) {
    links += fmt::format("<a href=\"#{}\">{}</a>\n", section_id(s.title), html(s.title));
    out += fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", section_id(s.title),
                       html(s.title), s.body);
  }
  return "<nav aria-label=\"sections\">\n" + links + "</nav>\n<main>\n" + out + "</main>\n";
}

}  // namespace

std::string page_html(const Page& page) {
  const std::string title = html(page.title), kind = html(page.kind), heading = html(page.heading),
                    body = body_of(page.sections), json = script_safe(json_of(page.charts));
  return filled(page_frame(), {{"title", title},
                               {"kind", kind},
                               {"heading", heading},
                               {"about", page.about},
                               {"body", body},
                               {"footer", page.footer},
                               {"data", json},
                               {"style", page_style()},
                               {"library", chart_library()},
                               {"script", page_script()}});
}

std::string table_of(const Cells& head, const std::vector<Cells>& rows, const char* style) {
  std::string out = fmt::format("<table class=\"{}\"><thead><tr>", style);
  for (const std::string& h : head) out += fmt::format("<th scope=\"col\">{}</th>", h);
  out += "</tr></thead><tbody>\n";
  for (const Cells& row : rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      out += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", row[i])
                    : fmt::format("<td data-name=\"{}\"{}>{}</td>", head[i],
                                  row[i].empty() ? " class=\"none\"" : "", row[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string list_item(const std::string& name, const std::string& text) {
  return text.empty() ? ""
                      : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html(name), html(text));
}

}  // namespace assay::page
