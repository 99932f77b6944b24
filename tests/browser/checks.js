// What a reader would see wrong with a page. Each check returns readable findings; page.py says what they mean.

const TOLERANCE = 1; // pixel
const AREA = 4; // square pixels

const seen = (element) =>
  element.checkVisibility({ contentVisibilityAuto: true, opacityProperty: true, visibilityProperty: true });

const shorten = (text) => {
  const words = text.replace(/\s+/g, " ").trim();
  return `“${words.length > 40 ? `${words.slice(0, 40)}…` : words}”`;
};

const name = (element) =>
  element.localName + (element.id ? `#${element.id}` : "") + [...element.classList].map((word) => `.${word}`).join("");

// Geometry: a shape is a list of corners, a frame is {left, top, right, bottom}.

const rectangle = ({ left, top, right, bottom }) => [[left, top], [right, top], [right, bottom], [left, bottom]];

const frame = (shape) => {
  const [x, y] = [shape.map((corner) => corner[0]), shape.map((corner) => corner[1])];
  return { left: Math.min(...x), top: Math.min(...y), right: Math.max(...x), bottom: Math.max(...y) };
};

const area = (shape) =>
  shape.reduce((sum, [x, y], i) => {
    const [nextX, nextY] = shape[(i + 1) % shape.length];
    return sum + (x * nextY - nextX * y) / 2;
  }, 0);

// Sutherland and Hodgman: what of a shape lies within another one, both convex.
const common = (shape, other) => {
  const turn = Math.sign(area(other));
  return other.reduce((left, [ax, ay], i) => {
    const [bx, by] = other[(i + 1) % other.length];
    const inside = ([x, y]) => turn * ((bx - ax) * (y - ay) - (by - ay) * (x - ax));
    return left.flatMap((corner, j) => {
      const next = left[(j + 1) % left.length];
      const [depth, nextDepth] = [inside(corner), inside(next)];
      const corners = depth >= 0 ? [corner] : [];
      if (depth * nextDepth >= 0) return corners;
      const share = depth / (depth - nextDepth);
      return [...corners, corner.map((value, axis) => value + share * (next[axis] - value))];
    });
  }, shape);
};

// Containers

const CUT = new Set(["hidden", "clip"]);
const SCROLL = new Set(["auto", "scroll"]);
const onPaper = matchMedia("print").matches;

const padding = (element) => {
  const box = element.getBoundingClientRect();
  if (element instanceof SVGElement) return box;
  const [left, top] = [box.left + element.clientLeft, box.top + element.clientTop];
  return { left, top, right: left + element.clientWidth, bottom: top + element.clientHeight };
};

// A container that cuts what lies beyond it, or scrolls: {element, frame, scrolls}.
const limitOf = (element, { overflowX, overflowY, display }) => {
  const kinds = [overflowX, overflowY];
  const applies = element instanceof SVGElement ? element.localName === "svg" : display !== "inline";
  if (!applies || !kinds.some((kind) => CUT.has(kind) || SCROLL.has(kind))) return [];
  const box = padding(element);
  const limit = { left: -1e6, top: -1e6, right: 1e6, bottom: 1e6 };
  if (overflowX !== "visible") Object.assign(limit, { left: box.left, right: box.right });
  if (overflowY !== "visible") Object.assign(limit, { top: box.top, bottom: box.bottom });
  return [{ element, frame: limit, scrolls: kinds.some((kind) => SCROLL.has(kind)) }];
};

// The containers around an element that limit where it is seen, from within.
const containersAround = (element) => {
  const { position } = getComputedStyle(element);
  return position === "fixed" ? [] : containers(element.parentElement, position === "absolute");
};

// Siblings share the walk upwards. What is absolute is free of all containers that are not positioned.
const limitsInFlow = new Map();
const limitsOfAbsolute = new Map();

const containers = (element, absolute = false) => {
  if (!element || element === document.body) return [];
  const limits = absolute ? limitsOfAbsolute : limitsInFlow;
  if (!limits.has(element)) limits.set(element, findContainers(element, absolute));
  return limits.get(element);
};

const findContainers = (element, absolute) => {
  const style = getComputedStyle(element);
  if (absolute && style.position === "static" && style.transform === "none")
    return containers(element.parentElement, true);
  return [...limitOf(element, style), ...containersAround(element)];
};

const reachable = ({ element, scrolls }) => scrolls && !onPaper && element.tabIndex >= 0;

// The usual way to speak to screen readers alone is a box of one pixel.
const forEars = (limits) =>
  limits.some(({ frame: box }) => box.right - box.left <= 1 || box.bottom - box.top <= 1);

// Texts: {element, text, shape, limits, node}, one for each line.

// Lines lie as close as the font is high, so boxes of letters with their accents may touch.
const asHighAsFont = (box, element) => {
  const { fontSize, writingMode } = getComputedStyle(element);
  const spare = writingMode === "horizontal-tb" ? Math.max(0, box.bottom - box.top - parseFloat(fontSize)) / 2 : 0;
  return { left: box.left, right: box.right, top: box.top + spare, bottom: box.bottom - spare };
};

const linesOfHtml = () => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const lines = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || element instanceof SVGElement || !seen(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      if (box.width > 0 && box.height > 0)
        lines.push({ element, node, text: node.data, shape: rectangle(asHighAsFont(box, element)) });
  }
  return lines;
};

const speaks = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());

const linesOfSvg = () => {
  const lines = [];
  for (const element of document.querySelectorAll("svg text, svg text *")) {
    const within = element.localName !== "text" && element.parentElement.closest("text, tspan, textPath");
    if (!speaks(element) || (within && speaks(within)) || !seen(element)) continue;
    const { x, y, width, height } = element.getBBox();
    const matrix = element.getScreenCTM();
    if (!matrix || width === 0) continue;
    const box = asHighAsFont({ left: x, top: y, right: x + width, bottom: y + height }, element);
    const shape = rectangle(box).map(([left, top]) => {
      const point = new DOMPoint(left, top).matrixTransform(matrix);
      return [point.x, point.y];
    });
    lines.push({ element, node: element, text: element.textContent, shape });
  }
  return lines;
};

const lines = () =>
  [...linesOfHtml(), ...linesOfSvg()]
    .map((line) => ({ ...line, limits: containers(line.element) }))
    .filter((line) => !forEars(line.limits));

// Overflow

const beyond = (inner, outer) =>
  Math.max(outer.left - inner.left, inner.right - outer.right, outer.top - inner.top, inner.bottom - outer.bottom);

const sideways = (box) => {
  const page = { left: 0, right: document.documentElement.clientWidth, top: -Infinity, bottom: Infinity };
  return beyond(box, page);
};

const cutOrOut = ({ text, shape, limits }) => {
  const box = frame(shape);
  for (const limit of limits) {
    if (reachable(limit)) return null;
    const far = beyond(box, limit.frame);
    if (far > TOLERANCE) return `${shorten(text)} is cut off by ${name(limit.element)}, ${far.toFixed(0)} px`;
  }
  const far = sideways(box);
  return far > TOLERANCE ? `${shorten(text)} sticks out of the page, ${far.toFixed(0)} px` : null;
};

const boxesOut = () => {
  const findings = [];
  for (const element of document.body.querySelectorAll("*")) {
    if (element.ownerSVGElement || !seen(element) || findings.some((other) => other.element.contains(element))) continue;
    const limits = containersAround(element);
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const shape = limits.reduce((left, limit) => common(left, rectangle(limit.frame)), rectangle(box));
    const far = shape.length ? sideways(frame(shape)) : 0;
    if (far > TOLERANCE) findings.push({ element, text: `${name(element)} sticks out of the page, ${far.toFixed(0)} px` });
  }
  return findings;
};

const outOfReach = () =>
  [...document.body.querySelectorAll("*")]
    .filter((element) => !onPaper && element.tabIndex < 0 && seen(element))
    .filter((element) => {
      const { overflowX, overflowY } = getComputedStyle(element);
      const wide = SCROLL.has(overflowX) && element.scrollWidth > element.clientWidth + TOLERANCE;
      return wide || (SCROLL.has(overflowY) && element.scrollHeight > element.clientHeight + TOLERANCE);
    })
    .map((element) => `${name(element)} scrolls, but takes no focus`);

const overflowing = () => {
  const boxes = boxesOut();
  const others = lines().filter((line) => !boxes.some(({ element }) => element.contains(line.element)));
  const texts = others.map(cutOrOut).filter((finding) => finding !== null);
  return [...new Set([...boxes.map(({ text }) => text), ...outOfReach(), ...texts])];
};

// A page that asks for swipes to the side; only what is edited as code may.
const scrollingSideways = () =>
  [document.documentElement, ...document.body.querySelectorAll("*:not(textarea, input)")]
    .filter((element) => seen(element) && element.scrollWidth > element.clientWidth + TOLERANCE)
    .filter((element) => element === document.documentElement || SCROLL.has(getComputedStyle(element).overflowX))
    .map((element) => `${name(element)} scrolls sideways, ${element.scrollWidth - element.clientWidth} px`);

// Buttons without a gap between them, in which a finger would hit the wrong one; bars that stay in view lie above others.
const GAP = 4; // pixels

const touching = () => {
  const buttons = [...document.querySelectorAll("main :is(button, .button)")]
    .filter((element) => seen(element) && element.offsetWidth > 1)
    .map((element) => ({ element, frame: element.getBoundingClientRect(), bar: element.closest(".actions") }));
  return buttons.flatMap((a, i) =>
    buttons
      .slice(i + 1)
      .filter((b) => a.bar === b.bar && Math.max(distance(a.frame, b.frame), distance(b.frame, a.frame)) < GAP)
      .map((b) => `${shorten(a.element.innerText)} and ${shorten(b.element.innerText)} touch`),
  );
};

// Distance from a box to one that lies to its right or below it; negative where both overlap.
const distance = (box, other) => Math.max(other.left - box.right, other.top - box.bottom);

// Overlap

const silent = (element) => element.closest('[aria-hidden="true"]') !== null;

// The browser gives a line with an ellipsis twice, and the parts of a formula are set into one another.
const together = (a, b) => {
  const formula = a.element.closest("math");
  const sameLine = a.node === b.node && a.shape[0][1] === b.shape[0][1];
  return sameLine || (formula !== null && formula === b.element.closest("math"));
};

const overlapping = () => {
  const texts = lines()
    .filter((line) => !silent(line.element))
    .map((line) => ({
      ...line,
      shape: line.limits.reduce((left, limit) => common(left, rectangle(limit.frame)), line.shape),
    }))
    .filter(({ shape }) => shape.length > 2)
    .map((line) => ({ ...line, frame: frame(line.shape) }))
    .sort((a, b) => a.frame.top - b.frame.top);
  return texts.flatMap((a, i) => {
    const findings = [];
    for (let j = i + 1; j < texts.length && texts[j].frame.top < a.frame.bottom; j++) {
      const b = texts[j];
      if (b.frame.left > a.frame.right || b.frame.right < a.frame.left || together(a, b)) continue;
      const shape = common(a.shape, b.shape);
      if (Math.abs(area(shape)) <= AREA) continue;
      const { left, top, right, bottom } = frame(shape);
      if (Math.min(right - left, bottom - top) <= TOLERANCE) continue;
      findings.push(`${shorten(a.text)} and ${shorten(b.text)}, ${(right - left).toFixed(0)} × ${(bottom - top).toFixed(0)} px`);
    }
    return findings;
  });
};

// Contrast, by the formula of WCAG 2.2

const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

const colours = new Map();

// Any CSS colour as red, green, blue and opacity from 0 to 1.
const rgba = (colour) => {
  if (!colours.has(colour)) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = "rgba(0, 0, 0, 0)";
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    colours.set(colour, [...pixel.getImageData(0, 0, 1, 1).data].map((value) => value / 255));
  }
  return [...colours.get(colour)];
};

const over = ([r, g, b, a], below) => [r, g, b].map((value, i) => value * a + below[i] * (1 - a));

const luminance = (colour) => {
  const linear = colour.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};

const contrast = (a, b) => {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
};

const paint = (element) => {
  const style = getComputedStyle(element);
  const drawn = element instanceof SVGElement && element.localName !== "svg";
  const colour = rgba(drawn ? style.fill : style.backgroundColor);
  for (let node = element; node; node = node.parentElement) colour[3] *= Number(getComputedStyle(node).opacity);
  colour[3] *= drawn ? Number(style.fillOpacity) : 1;
  return colour;
};

// What is painted where nothing is: the canvas of the colour scheme.
const canvas = () => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.backgroundColor = "Canvas";
  const colour = rgba(getComputedStyle(probe).backgroundColor);
  probe.remove();
  return colour.slice(0, 3);
};

const underMiddle = (element) => {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  return document.elementsFromPoint((left + right) / 2, (top + bottom) / 2);
};

const contrastOf = ({ element }, base) => {
  let under = underMiddle(element);
  if (!under.includes(element)) {
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    under = underMiddle(element);
  }
  const layers = under.slice(under.indexOf(element) + 1).filter((other) => !other.closest("text"));
  const ground = layers.reverse().reduce((below, other) => over(paint(other), below), base);
  return contrast(over(paint(element), ground), ground);
};

const faint = () => {
  const style = new CSSStyleSheet();
  style.replaceSync("svg * { pointer-events: auto !important }"); // only what takes the pointer is found at a point
  document.adoptedStyleSheets.push(style);
  const base = canvas();
  const findings = linesOfSvg().flatMap((line) => {
    const { fontSize, fontWeight } = getComputedStyle(line.element);
    const large = parseFloat(fontSize) >= (Number(fontWeight) >= 700 ? 18.66 : 24);
    const ratio = contrastOf(line, base);
    return ratio < (large ? 3 : 4.5) ? [`${shorten(line.text)} has a contrast of ${ratio.toFixed(2)}`] : [];
  });
  document.adoptedStyleSheets.pop();
  scrollTo(0, 0);
  return findings;
};
