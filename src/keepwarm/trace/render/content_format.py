"""Does a chat template walk over the parts of a message's content?

vLLM decides by the template's syntax tree: there must be a loop over the ``content`` of a
variable that itself loops over ``messages`` (or over a name that was set to it). Templates that
do get content as a list of parts; all others get one text.
"""

from __future__ import annotations

from jinja2 import nodes


def walks_over_parts(tree: nodes.Template) -> bool:
    """True if content is to be given as parts. Odd trees count as False."""
    lists = {"messages"}
    assigns = list(tree.find_all(nodes.Assign))
    grown = True
    while grown:
        grown = False
        for assign in assigns:
            target = assign.target
            if (
                isinstance(target, nodes.Name)
                and target.name not in lists
                and _names(assign.node, lists, None)
            ):
                lists.add(target.name)
                grown = True
    loops = list(tree.find_all(nodes.For))
    items = {
        loop.target.name
        for loop in loops
        if isinstance(loop.target, nodes.Name) and _names(loop.iter, lists, None)
    }
    return any(_names(loop.iter, items, "content") for loop in loops)


def _names(node: nodes.Node | None, names: set[str], member: str | None) -> bool:
    """Is ``node`` one of ``names`` (or its ``member``), perhaps filtered, tested or sliced?"""
    while True:
        if isinstance(node, nodes.Filter | nodes.Test) or (
            isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
        ):
            node = node.node
            continue
        break
    if member is not None:
        if (
            isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and node.arg.value == member
        ) or (isinstance(node, nodes.Getattr) and node.attr == member):
            node = node.node
        else:
            return False
    return isinstance(node, nodes.Name) and node.ctx == "load" and node.name in names
