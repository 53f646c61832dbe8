"""How the pages come out where a person has set colours of their own, or wants no motion."""
from gallery import inspect
from pages import visitor
from registry import test

# What moves by itself, or when it is pointed at.
MOVING = """() => [...document.querySelectorAll('*')].flatMap(element => [null, '::before', '::after'].map(
        part => [element, getComputedStyle(element, part)]))
    .filter(([, style]) => style.animationName !== 'none' || /[1-9]/.test(style.transitionDuration)
        || style.scrollBehavior !== 'auto')
    .map(([element]) => element.outerHTML.slice(0, 100))"""
# What is pressed or filled in has an edge, and all text is read, by WCAG's formula, in the colours that the browser has
# put in the place of ours.
UNSEEN = """() => {
    const channels = colour => colour.match(/[\\d.]+/g).map(Number);
    const isOpaque = (colour, least = 1) => (channels(colour)[3] ?? 1) >= least;
    const luminance = colour => channels(colour).slice(0, 3).map(value => value / 255)
        .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
    const contrast = (one, other) => {
        const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (light + 0.05) / (dark + 0.05);
    };
    const probe = document.body.appendChild(document.createElement('div'));
    probe.style.backgroundColor = 'Canvas';
    const canvas = getComputedStyle(probe).backgroundColor;
    probe.remove();
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (isOpaque(colour)) return colour;
        }
        return canvas;
    };
    const faults = matchMedia('(forced-colors: active)').matches ? [] : ['the colours are ours'];
    for (const control of document.querySelectorAll('button, .button, input:not([type=hidden])')) {
        const style = getComputedStyle(control);
        if (style.borderTopStyle !== 'solid' || parseFloat(style.borderTopWidth) < 1 || !isOpaque(style.borderTopColor, 0.5)
            || contrast(style.borderTopColor, behind(control.parentElement)) < 3)
            faults.push(`no edge: ${control.outerHTML.slice(0, 100)}`);
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const box = node.parentElement;
        if (node.textContent.trim() && contrast(getComputedStyle(box).color, behind(box)) < 4.5)
            faults.push(`not read: ${box.outerHTML.slice(0, 100)}`);
    }
    return faults;
}"""


@test(scheme=["light", "dark"])
def forced_colours_without_motion(browser, stack, scheme):
    """In a person's own colours every text is read, every control has an edge, and a field with an error a thicker one. Nor
    does anything move, for who wants that; for others the colour of a button does."""
    person = visitor(browser, stack)
    moving = person.open(stack.attempt()).evaluate(MOVING)
    assert moving and all(html.startswith(("<button", '<a class="button')) for html in moving), moving
    person.close()
    person = visitor(browser, stack, color_scheme=scheme, forced_colors="active", reduced_motion="reduce")

    def faults(name):
        yield from (f"moves: {html}" for html in person.page.evaluate(MOVING))
        yield from person.page.evaluate(UNSEEN)
        widths = person.page.evaluate(
            """() => [...document.querySelectorAll('input:not([type=hidden])')].map(
                input => [input.ariaInvalid === 'true', parseFloat(getComputedStyle(input).borderTopWidth)])""")
        edges = {state: {width for invalid, width in widths if invalid is state} for state in (True, False)}
        if edges[True] and edges[False] and min(edges[True]) <= max(edges[False]):
            yield f"a field with an error looks like any other: {widths}"

    inspect(person, f"forced-{scheme}", faults)
