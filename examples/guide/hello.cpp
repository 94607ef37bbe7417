// hello: the first program of the guide. Run it at four places with
//
//   situ run -n 4 hello
//
// or by itself, as one place. Every place runs main; at() and finish() run functions at other places.
#include <situ/situ.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};  // joins the job
  std::printf("place %u of %u\n", situ::here().index(), situ::place_count());
  situ::barrier();
  if (situ::here() != situ::place{0}) return 0;

  const situ::place last{situ::place_count() - 1};
  const std::string answer = situ::at(
      last, [](const std::string& who) { return who + ", from place " + std::to_string(situ::here().index()); },
      "greetings");
  std::printf("%s\n", answer.c_str());

  situ::finish([] {  // waits for all tasks, wherever they run
    for (const situ::place p : situ::places())
      situ::async_at(p, [] { std::printf("a task at place %u\n", situ::here().index()); });
  });
  std::printf("all tasks are done\n");
}
