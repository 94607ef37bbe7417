// Intents that a user names on the command line, for which nobody has written an ordering. Such a name may be a program's
// own, so it is no error.
#pragma once

#include <situ/machine/intent.h>
#include <situ/machine/orderings.h>

#include <string>

// Returns "; did you mean 'bandwidth'?" if the intent is none of `all`, and its name is near to one of them; else an
// empty text.
[[nodiscard]] std::string suggestion_for(const situ::intent& what, const situ::machine::orderings& all);

// Prints a sentence for the user if the intent is none of `all`.
void warn_if_unknown(const situ::intent& what, const situ::machine::orderings& all);
// The same by the orderings of this machine, which are read only if the intent is no standard one.
void warn_if_unknown(const situ::intent& what);
