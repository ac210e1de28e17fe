// Parts of the report's page, embedded at build time from report/ and from Debian's libjs-chart.js.
#pragma once

#include <string_view>

namespace assay::probe {

std::string_view page_frame();     // report/page.html: places are {{name}}
std::string_view page_style();     // report/page.css
std::string_view page_script();    // report/page.js
std::string_view chart_library();  // Chart.js, MIT licence

}  // namespace assay::probe
