#include "model/execution/report_page.h"

#include "page_text.h"

namespace situ::model {

std::string report_page(std::string_view json) {
  std::string page{page_head};
  page.reserve(page_head.size() + json.size() + page_tail.size() + 1024);
  // The JSON must contain nothing like a tag. This character occurs only in JSON's texts, and may be escaped there.
  for (const char each : json)
    if (each == '<')
      page += "\\u003c";
    else
      page += each;
  return page += page_tail;
}

}  // namespace situ::model
