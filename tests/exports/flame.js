// flame.js FILE.svg REGEX PERCENT: runs the flame graph's script on its frames, with as much of a document as it uses.
'use strict';
const fs = require('fs'), assert = require('assert');
const [file, regex, percent] = process.argv.slice(2);
const source = fs.readFileSync(file, 'utf8');
const plain = s => s.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&apos;/g, "'").replace(/&amp;/g, '&');

function element(attributes, text) {
	const listeners = {};
	return {attributes, textContent: plain(text || ''), style: {}, listeners, parts: {},
		classList: {names: new Set(), add(n) { this.names.add(n); }, remove(n) { this.names.delete(n); }},
		getAttribute(n) { return attributes[n]; }, setAttribute(n, v) { attributes[n] = String(v); },
		removeAttribute(n) { delete attributes[n]; }, querySelector(n) { return this.parts[n]; },
		addEventListener(n, f) { listeners[n] = f; }};
}
const attributes_of = text => Object.fromEntries([...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(m => [m[1], plain(m[2])]));
const groups = [...source.matchAll(/<g ([^>]*)><title>([^<]*)<\/title><rect ([^>]*)\/><text ([^>]*)>([^<]*)<\/text><\/g>/g)].map(m => {
	const g = element(attributes_of(m[1]));
	g.parts = {title: element({}, m[2]), rect: element(attributes_of(m[3])), text: element(attributes_of(m[4]), m[5])};
	return g;
});
const svg = element({}), view = element({});
svg.width = {baseVal: {value: 1220}};
view.querySelectorAll = () => groups;
svg.parts['.frames'] = view;
for (const name of ['details', 'matched', 'reset', 'search'])
	svg.parts['.' + name] = element({}, source.match(new RegExp('class="' + name + '[^>]*>([^<]*)<'))[1]);
let typed = null;
global.document = Object.assign(element({}), {currentScript: {ownerSVGElement: svg}});
global.window = Object.assign(element({}), {prompt: () => typed});
eval(source.match(/<!\[CDATA\[([^]*)\]\]>/)[1]);

const shown = () => groups.filter(g => g.style.display !== 'none').length;
const key = (name, more) => document.listeners.keydown(Object.assign({key: name, preventDefault() {}}, more));
const text = name => svg.parts['.' + name].textContent;
const all = groups.length;
assert.ok(all > 3, 'no frames');
assert.strictEqual(shown(), all);
typed = regex;
key('/');
assert.strictEqual(text('matched'), 'matched ' + percent + '%');
assert.ok(groups.some(g => g.parts.rect.attributes.fill === 'rgb(230,90,230)'), 'nothing is highlighted');
typed = '(';
key('f', {ctrlKey: true});
assert.ok(text('details').startsWith('no regular expression'), text('details'));
svg.parts['.search'].listeners.click();
assert.strictEqual(text('matched'), '');
// A click on the last frame: what calls it stays, at full width; Escape brings all back.
groups[all - 1].listeners.click();
assert.strictEqual(shown(), +groups[all - 1].attributes['data-d'] + 1);
assert.strictEqual(groups[all - 1].parts.rect.attributes.width, '100%');
assert.notStrictEqual(svg.parts['.reset'].style.display, 'none');
key('Backspace');
assert.ok(shown() >= +groups[all - 1].attributes['data-d'] + 1);
key('Escape');
assert.strictEqual(shown(), all);
key('ArrowUp');
key('ArrowUp');
assert.strictEqual(text('details').split('   ')[0], groups[2].parts.title.textContent.split('\n')[0]);
key('ArrowDown');
key('Enter');
key('toString');
assert.strictEqual(text('details').split('   ')[0], groups[1].parts.title.textContent.split('\n')[0]);
view.listeners.mouseleave();
