"""What a screen reader is given: names, errors and order, as they are in Chromium's accessibility tree."""
import contextlib
import re

from playwright.sync_api import Error

CONTROLS = "button", "link", "textbox", "checkbox", "radio", "combobox"
# What of the tree has a place on the screen.
READ = *CONTROLS, "StaticText", "image"
TARGET = "function () { return this.href ?? `${this.form.action} ${this.name}=${this.value}`; }"


class Node:
    def __init__(self, session, node):
        self._session, self._node = session, node
        self.role, self.name, self.description = (self._value(name) for name in ("role", "name", "description"))

    def _value(self, name):
        return self._node.get(name, {}).get("value", "")

    def property(self, name):
        values = [each["value"].get("value") for each in self._node.get("properties", []) if each["name"] == name]
        return values[0] if values else None

    def _send(self, method, **more):
        return self._session.send(method, {"backendNodeId": self._node["backendDOMNodeId"], **more})

    def boxes(self):
        """Left, top, right and bottom of each line of it; none of what has no place of its own."""
        with contextlib.suppress(Error):
            quads = self._send("DOM.getContentQuads")["quads"]
            return [(min(quad[::2]), min(quad[1::2]), max(quad[::2]), max(quad[1::2])) for quad in quads]
        return []

    def target(self):
        """Where a link or a button leads."""
        node = self._send("DOM.resolveNode")["object"]["objectId"]
        return self._session.send("Runtime.callFunctionOn", {
            "objectId": node, "functionDeclaration": TARGET, "returnByValue": True})["result"]["value"]


def tree(session):
    """The nodes in the order in which they are read."""
    for domain in "DOM", "Accessibility":
        session.send(f"{domain}.enable")
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}

    def walk(node):
        if not node.get("ignored"):
            yield Node(session, node)
        for child in node.get("childIds", []):
            if child in by_id:
                yield from walk(by_id[child])

    return list(walk(nodes[0]))


def misnamed(nodes, title):
    """Controls without a name, or with one that another has that leads elsewhere; headings that skip a level; an error of
    which its field says nothing."""
    roles = [node.role for node in nodes]
    if roles.count("main") != 1 or roles.count("banner") > 1 or roles.count("contentinfo") > 1:
        yield f"landmarks: {[role for role in roles if role in ('main', 'banner', 'contentinfo')]}"
    if nodes[0].name != title or not title:
        yield f"the page is called {nodes[0].name!r}, its title is {title!r}"
    levels = [node.property("level") for node in nodes if node.role == "heading"]
    if levels[:1] != [1] or levels.count(1) > 1 or any(after > before + 1 for before, after in zip(levels, levels[1:])):
        yield f"headings: {levels}"
    led = {}
    for node in nodes:
        if node.role in CONTROLS and not node.name.strip():
            yield f"a {node.role} without a name"
        if node.role in ("button", "link"):
            led.setdefault((node.role, node.name, node.description), set()).add(node.target())
    for control, targets in led.items():
        if len(targets) > 1:
            yield f"{control} leads to {sorted(targets)}"
    alerts = [node for node in nodes if node.role == "alert"]
    said = " ".join(text.name for text in nodes if text.role == "StaticText")
    for node in nodes:
        if node.property("invalid") not in (None, False, "false"):
            if not alerts:
                yield f"{node.name} is invalid, and no alert says why"
            elif not node.description or re.split("[.。]", node.description)[0] not in said:
                yield f"{node.name} is invalid, and described by {node.description!r}"


def misplaced(nodes, is_rtl):
    """What is read after something that stands behind it on the screen."""
    before = None
    for node in nodes:
        boxes = node.boxes() if node.role in READ else []
        if not boxes:
            continue
        if before:
            (left, top, right, bottom), (start, head, end, foot) = before[1][-1], boxes[0]
            is_one_line = min(bottom, foot) - max(top, head) > min(bottom - top, foot - head) / 2
            is_behind = start >= right - 1 if is_rtl else end <= left + 1
            is_inside = start >= left - 1 and end <= right + 1
            if foot <= top or is_one_line and is_behind and not is_inside and len(before[1]) == len(boxes) == 1:
                yield f"{before[0].name!r} is read before {node.name!r}, which stands before it"
        before = node, boxes


def misread(page, is_rtl):
    """What is wrong with a page where it is read out."""
    session = page.context.new_cdp_session(page)
    nodes = tree(session)
    yield from misnamed(nodes, page.title())
    yield from misplaced(nodes, is_rtl)
    session.detach()
