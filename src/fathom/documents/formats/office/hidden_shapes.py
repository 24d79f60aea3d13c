"""Text of a PPTX slide that is left out: struck through, hidden, off the slide, tiny, transparent.

White letters stay, because a slide may have any background.
"""

from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    iter_descendants,
    parse_number,
)

Edges = tuple[int, int]
"""The right and the lower edge of a slide in the format's unit (360,000 to a centimetre)."""
_USUAL: Edges = (9_144_000, 6_858_000)
_TINIEST = 200
"""The largest size of letters, in hundredths of a point, that nobody can read."""
_STRIKES = {"sngStrike", "dblStrike"}
_FAINTEST = 10_000
"""The largest opacity, of 100,000, that nobody can see."""


def get_edges(size: Element | None) -> Edges:
    """Return the edges of the slides of a presentation from its `sldSz`; usual ones without it."""
    if size is None:
        return _USUAL
    right, lower = (parse_number(get_attribute(size, name)) for name in ("cx", "cy"))
    return (right, lower) if right > 0 and lower > 0 else _USUAL


def drop_hidden_text(tree: Element, edges: Edges) -> int:
    """Drop the shapes and runs of a slide that no reader sees, and count those with text."""
    count = 0
    todo = [tree]
    while todo:
        parent = todo.pop()
        for element in list(parent):
            name = get_local_name(element)
            # Places inside a group are relative to the group.
            is_placed = parent is tree and name in {"sp", "grpSp", "graphicFrame"}
            if _is_hidden(element, name) or (is_placed and _lies_off_slide(element, edges)):
                count += any((text.text or "").strip() for text in iter_descendants(element, "t"))
                parent.remove(element)
            else:
                todo.append(element)
    return count


def drop_hidden_runs(root: Element) -> int:
    """Drop the runs that no reader sees from the notes of a slide, and count those with text.

    The notes are also shown outside of their page, so their shapes stay wherever they are.
    """
    hidden = [run for run in iter_descendants(root, "r") if _is_hidden(run, "r")]
    for run in hidden:
        parent = run.getparent()
        if parent is not None:
            parent.remove(run)
    return sum(any((t.text or "").strip() for t in iter_descendants(run, "t")) for run in hidden)


def _is_hidden(element: Element, name: str) -> bool:
    """Return whether a shape is marked as hidden, or a run is invisible."""
    if name == "r":
        return _is_invisible(find_child(element, "rPr"))
    names = (f"nv{name[:1].upper()}{name[1:]}Pr", "cNvPr")
    properties = find_child(element, *names)
    return properties is not None and get_attribute(properties, "hidden") in {"1", "true"}


def _is_invisible(properties: Element | None) -> bool:
    """Return whether the properties of a run strike it through, or make it tiny or transparent."""
    if properties is None:
        return False
    if get_attribute(properties, "strike") in _STRIKES:
        return True
    size = parse_number(get_attribute(properties, "sz"), _TINIEST + 1)
    fill = find_child(properties, "solidFill")
    alphas = [] if fill is None else list(iter_descendants(fill, "alpha"))
    is_faint = any(parse_number(get_attribute(a, "val"), 100_000) <= _FAINTEST for a in alphas)
    has_line = find_child(properties, "ln") is not None
    is_empty = find_child(properties, "noFill") is not None and not has_line
    return size <= _TINIEST or is_faint or is_empty


def _lies_off_slide(shape: Element, edges: Edges) -> bool:
    """Return whether a shape is wholly outside the slide; `False` without a place of its own."""
    for properties in (find_child(shape, "spPr"), find_child(shape, "grpSpPr"), shape):
        offset, extent = (find_child(properties, "xfrm", part) for part in ("off", "ext"))
        if offset is None or extent is None:
            continue
        left, top = (parse_number(get_attribute(offset, name)) for name in ("x", "y"))
        width, height = (parse_number(get_attribute(extent, name)) for name in ("cx", "cy"))
        is_before = left + width <= 0 or top + height <= 0
        return is_before or left >= edges[0] or top >= edges[1]
    return False
