# Shows Situ's pointers in gdb as place, address and offset within the segment, its containers, owners and futures as
# what they hold, and walks object graphs:
#
#   (gdb) source <prefix>/share/situ/gdb/situ_gdb.py
#   (gdb) print p
#   $1 = 0x108000012040 at place 2, offset 0x1040 = {* = 42}
#   (gdb) print answer
#   $2 = not ready, from place 3
#   (gdb) situ-graph head
#   #0 node 0x5555555592a0: value = 1, next = #1
#   #1 node 0x5555555592c0: value = 2, next = #0
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
        element = value.type.strip_typedefs().template_argument(0)
        self.raw = value["address_"].cast(element.pointer())

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


class StringPrinter:
    """situ::string: its text."""

    def __init__(self, value):
        self.raw = value["raw_"]

    def to_string(self):
        count = int(self.raw["count"])
        if count == 0:
            return ""
        return self.raw["data"].cast(gdb.lookup_type("char").pointer()).lazy_string(length=count)

    def display_hint(self):
        return "string"


class ArrayPrinter:
    """situ::array<T> and situ::vector<T>: how many elements, and the elements."""

    def __init__(self, value):
        self.raw = value["raw_"]
        self.element = value.type.strip_typedefs().template_argument(0)

    def to_string(self):
        return f"{int(self.raw['count'])} elements"

    def children(self):
        elements = self.raw["data"].cast(self.element.pointer())
        for i in range(int(self.raw["count"])):
            yield f"[{i}]", elements[i]

    def display_hint(self):
        return "array"


class OwnedPrinter:
    """situ::owned<T>: the graph's size and its root."""

    def __init__(self, value):
        self.root = value["root_"]
        self.arena = value["memory_"]["arena_"]

    def to_string(self):
        if int(self.arena) == 0:
            return "nothing" if int(self.root) == 0 else "a root of no graph"
        return f"graph of {int(self.arena['objects'])} objects"

    def children(self):
        if int(self.root) != 0:
            yield "root", self.root.dereference()


class FuturePrinter:
    """situ::future<T> and situ::promise<T>: whether it is ready, and its value."""

    no_place = 0xFFFF

    def __init__(self, value):
        self.state = value["state_"]["state_"]

    def to_string(self):
        if int(self.state) == 0:
            return "no future: default-constructed or moved from"
        if not bool(self.state["ready"]):
            place = int(self.state["answered_by"])
            return "not ready" + (f", from place {place}" if place != self.no_place else "")
        return "failed" if int(self.state["error"]["_M_exception_object"]) != 0 else "ready"

    def children(self):
        if int(self.state) == 0 or not bool(self.state["ready"]):
            return
        if int(self.state["error"]["_M_exception_object"]) == 0 and any(
            field.name == "value" for field in self.state.dereference().type.fields()
        ):
            yield "value", self.state["value"]


class GraphCommand(gdb.Command):
    """situ-graph EXPRESSION [COUNT]: the objects that a pointer or a situ::owned reaches, each once, at most COUNT (50)."""

    def __init__(self):
        super().__init__("situ-graph", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not words:
            raise gdb.GdbError("situ-graph needs a pointer to an object")
        most = 50
        if len(words) > 1 and words[-1].isdigit():
            most = int(words.pop())
        root = gdb.parse_and_eval(" ".join(words))
        if root.type.strip_typedefs().code == gdb.TYPE_CODE_REF:
            root = root.referenced_value()
        if str(root.type.strip_typedefs().unqualified()).startswith("situ::owned<"):
            root = root["root_"]
        if not self.is_object_pointer(root.type):
            raise gdb.GdbError("situ-graph needs a pointer to an object, or a situ::owned")
        self.numbers = {}
        self.queue = []
        self.number_of(root)
        shown = 0
        while shown < len(self.queue) and shown < most:
            pointer = self.queue[shown]
            fields = ", ".join(self.fields_of(pointer.dereference()))
            name = pointer.type.strip_typedefs().target().unqualified()
            print(f"#{shown} {name} {int(pointer):#x}: {fields}")
            shown += 1
        if shown < len(self.queue):
            print(f"and more; situ-graph {' '.join(words)} {2 * most} shows them")

    @staticmethod
    def is_object_pointer(kind):
        kind = kind.strip_typedefs()
        if kind.code != gdb.TYPE_CODE_PTR:
            return False
        return kind.target().strip_typedefs().code == gdb.TYPE_CODE_STRUCT

    def number_of(self, pointer):
        address = int(pointer)
        if address == 0:
            return "null"
        if address not in self.numbers:
            self.numbers[address] = len(self.queue)
            self.queue.append(pointer)
        return f"#{self.numbers[address]}"

    def fields_of(self, value):
        for field in value.type.strip_typedefs().fields():
            if not hasattr(field, "bitpos") or field.artificial:
                continue
            part = value[field]
            if field.is_base_class:
                yield from self.fields_of(part)
            else:
                yield f"{field.name} = {self.text_of(part)}"

    def text_of(self, value):
        kind = value.type.strip_typedefs().unqualified()
        if self.is_object_pointer(kind):
            return self.number_of(value)
        if str(kind).startswith(("situ::vector<", "situ::array<")) and self.is_object_pointer(kind.template_argument(0)):
            return "[" + ", ".join(self.number_of(each) for _, each in ArrayPrinter(value).children()) + "]"
        return value.format_string(max_elements=8)


def _register():
    GraphCommand()
    printers = gdb.printing.RegexpCollectionPrettyPrinter("situ")
    printers.add_printer("string", "^situ::string$", StringPrinter)
    printers.add_printer("array", "^situ::(array|vector)<.*>$", ArrayPrinter)
    printers.add_printer("owned", "^situ::owned<.*>$", OwnedPrinter)
    printers.add_printer("future", "^situ::(future|promise)<.*>$", FuturePrinter)
    printers.add_printer("ptr", "^situ::ptr<.*>$", PtrPrinter)
    printers.add_printer("place", "^situ::place$", PlacePrinter)
    gdb.printing.register_pretty_printer(None, printers, replace=True)


_register()
