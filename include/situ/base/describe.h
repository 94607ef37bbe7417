// Macros by which a class lists its fields, for values (runtime/serialize.h) and for object graphs (graph/describe.h).
// Stateless. cost: none when the program runs.
#pragma once

#include <situ/base/detail/description.h>

// Lists the fields of a class, once: inside the class, in any section (private fields may be listed then), or after it
// in its namespace. Not for a class within a function.
#define SITU_DESCRIBE(type, ...) SITU_DETAIL_DESCRIPTION(type, (), __VA_ARGS__)
// As SITU_DESCRIBE, for a class with described bases: SITU_DESCRIBE_DERIVED(circle, (shape), radius).
#define SITU_DESCRIBE_DERIVED(type, bases, ...) SITU_DETAIL_DESCRIPTION(type, bases, __VA_ARGS__)
