// What each snippet of a document may use without an #include of its own. Compiled once, for the snippets of all documents.
#include <situ/graph.h>
#include <situ/situ.h>
