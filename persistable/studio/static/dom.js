// SPDX-License-Identifier: Apache-2.0

// el makes an element. Properties that begin with "on" are listeners; null, undefined and false
// leave an attribute out. Children are nodes or text: text is never read as HTML.
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

// svg makes an element of a drawing.
export function svg(tag, props, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'value') node.value = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

// put replaces the children of a node.
export function put(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}
