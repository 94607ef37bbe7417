// Intents that a user names on the command line, for which nobody has written an ordering.
#pragma once

#include <situ/machine/intent.h>
#include <situ/machine/orderings.h>

#include <string>
#include <string_view>

// Returns a sentence for the user if `what` is no standard intent and `all` has no ordering for it; else an empty text.
// The name may be a program's own, so this is no error.
[[nodiscard]] std::string if_unknown(const situ::intent& what, const situ::machine::orderings& all);

// Returns `before` and "did you mean 'bandwidth'?" if `what` is near to an intent of `all`, and none of them; else an
// empty text.
[[nodiscard]] std::string if_misspelt(std::string_view before, const situ::intent& what,
                                      const situ::machine::orderings& all);

// Prints the sentence of if_unknown, by the orderings of this machine, which it reads only if `what` is no standard
// intent.
void warn_if_unknown(const situ::intent& what);
