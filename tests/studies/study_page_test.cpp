// A study's result: deviations, text, JSON, the page and its plots.
#include "support/study_page.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace situ::studies {
namespace {

study_result sample() {
  return {
      .name = "sample",
      .title = "A <sample> & more",
      .source = "nowhere",
      .parts = {{.name = "one",
                 .title = "Part one",
                 .rows = {{.what = "time", .unit = "us", .paper = 2, .ours = 2.5, .from = origin::predicted},
                          {.what = "later", .unit = "us", .paper = 1}},
                 .plots = {{"Plot", "x", "y", {{"line", {{1, 10}, {100, 1000}, {0, 5}}}}}},
                 .grids = {{.title = "More", .headings = {"kernel", "x<y"}, .lines = {{"BF", "1.5"}, {"DST", "2"}}}},
                 .missing = {"something"}}}};
}

TEST(comparison_row, deviates_from_a_figure_or_a_range) {
  EXPECT_DOUBLE_EQ(*(comparison_row{.paper = 4, .ours = 5}).deviation(), 25);
  EXPECT_DOUBLE_EQ(*(comparison_row{.paper = 4, .ours = 3}).deviation(), -25);
  EXPECT_DOUBLE_EQ(*(comparison_row{.paper = 4, .paper_most = 10, .ours = 7}).deviation(), 0);
  EXPECT_DOUBLE_EQ(*(comparison_row{.paper = 4, .paper_most = 10, .ours = 7, .ours_most = 12}).deviation(), 20);
  EXPECT_DOUBLE_EQ(*(comparison_row{.paper = 4, .paper_most = 10, .ours = 3, .ours_most = 9}).deviation(), -25);
  EXPECT_FALSE((comparison_row{.paper = 4}).deviation());
  EXPECT_FALSE((comparison_row{.ours = 4}).deviation());  // the paper has no figure
}

TEST(study_page, text_has_a_row_a_figure) {
  const std::string text = to_text(sample());
  EXPECT_NE(text.find("time    us    2      2.5      +25.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("later   us    1      not yet"), std::string::npos) << text;
  EXPECT_NE(text.find("not yet: something"), std::string::npos);
  EXPECT_NE(text.find("  More\n  kernel  x<y\n  BF      1.5\n  DST     2\n"), std::string::npos) << text;
}

TEST(study_page, json_is_read_back) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ(json["kind"], "modelled");
  const auto& part = json["parts"][0];
  EXPECT_EQ(part["rows"][0]["deviation_percent"], 25);
  EXPECT_EQ(part["rows"][0]["from"], "predicted");
  EXPECT_TRUE(part["rows"][1]["ours"].is_null());
  EXPECT_EQ(part["plots"][0]["lines"][0]["points"][1][1], 1000);
  EXPECT_EQ(part["grids"][0]["lines"][1][1], "2");
}

TEST(study_page, html_is_on_its_own_and_escaped) {
  const std::string html = to_html(sample());
  EXPECT_NE(html.find("<title>A &lt;sample&gt; &amp; more</title>"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("<tr class=\"far\"><td>time</td>"), std::string::npos);
  EXPECT_NE(html.find("<tr class=\"missing\"><td>later</td>"), std::string::npos);
  EXPECT_NE(html.find("</svg>"), std::string::npos);
  EXPECT_NE(html.find("<h3>More</h3>\n<table><tr><th>kernel</th><th>x&lt;y</th></tr>\n<tr><td>BF</td>"),
            std::string::npos);
}

// Two decades across, 62 to 508 pixels; two up, 316 to 30.
TEST(study_page, points_lie_where_their_logarithms_are) {
  const std::string svg = to_svg(sample().parts[0].plots[0]);
  EXPECT_NE(svg.find("d=\"M62.0 316.0L508.0 30.0\""), std::string::npos) << svg;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(to_svg({.title = "Nothing", .x = "x", .y = "y", .lines = {}}).find("<path"), std::string::npos);
}

TEST(studies, are_found_by_name) {
  EXPECT_EQ(study_named("nemesys").name, "nemesys");
  try {
    (void)study_named("nemesis");
    FAIL() << "there is no such study";
  } catch (const error& failure) {
    EXPECT_EQ(failure.message(),
              "there is no study nemesis: there is nemesys, nemesys-fitted, nemesys-ranges, host, pim, manycore-heap, "
              "rmem, gascore");
  }
}

}  // namespace
}  // namespace situ::studies
