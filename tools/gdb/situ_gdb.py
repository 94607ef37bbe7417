# Shows Situ's pointers in gdb as place, address and offset within the segment:
#
#   (gdb) source <prefix>/share/situ/gdb/situ_gdb.py
#   (gdb) print p
#   $1 = 0x108000012040 at place 2, offset 0x1040 = {* = 42}
#
# Reads only what place_context.h documents, through the stopped thread's `situ::detail::current`. Where that cannot be read (no runtime,
# a core file without thread-locals) a pointer shows its address alone. An address in no segment is at no place.

import gdb
import gdb.printing


def _context():
    """The stopped thread's place_context, or None where there is none or it knows no places."""
    try:
        context = gdb.parse_and_eval("*situ::detail::current")
        return context if int(context["place_count"]) != 0 else None
    except gdb.error:
        return None


def _whereabouts(address):
    """Where an address lies, in words; empty if no job tells."""
    context = _context()
    if context is None:
        return ""
    offset = address - int(context["base"])
    place = offset >> int(context["slice_shift"])
    if offset < 0 or place >= int(context["place_count"]):
        return "no place"
    heap_offset = (offset & int(context["slice_mask"])) - int(context["heap_offset"])
    if heap_offset < 0:
        return f"place {place}, runtime's own memory"
    here = " (here)" if place == int(context["place"]) else ""
    return f"place {place}{here}, offset {heap_offset:#x}"


class PtrPrinter:
    """situ::ptr<T>: where it points; the element, where it can be read, is its child."""

    def __init__(self, value):
        self.raw = value["raw_"]

    def to_string(self):
        address = int(self.raw)
        if address == 0:
            return "null"
        where = _whereabouts(address)
        return f"{address:#x}" + (f" at {where}" if where else "")

    def children(self):
        target = self.raw.type.strip_typedefs().target().strip_typedefs()
        if int(self.raw) == 0 or target.code == gdb.TYPE_CODE_VOID:
            return
        element = self.raw.dereference()
        try:
            element.fetch_lazy()
        except gdb.error:
            return
        yield "*", element


class PlacePrinter:
    """situ::place: its index."""

    def __init__(self, value):
        self.index = int(value["index_"])

    def to_string(self):
        return f"place {self.index}"


def _register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("situ")
    printers.add_printer("ptr", "^situ::ptr<.*>$", PtrPrinter)
    printers.add_printer("place", "^situ::place$", PlacePrinter)
    gdb.printing.register_pretty_printer(None, printers, replace=True)


_register()
