// viewer.js dh_view.js FILE TOTAL: DHAT's own viewer builds its tree of the file; nothing is drawn.
'use strict';
const fs = require('fs'), vm = require('vm');
const element = () => ({childNodes: [], appendChild() {}, addEventListener() {}, style: {}});
const context = {document: {createElement: element, createTextNode: element, getElementById: element, body: element()}, window: {},
	data: JSON.parse(fs.readFileSync(process.argv[3]))};
vm.createContext(context);
const total = vm.runInContext(fs.readFileSync(process.argv[2], 'utf8') + `;
gData = data; gSelect = {childNodes: gSelectData.map(() => ({})), selectedIndex: 0}; buildTree(); gRoot._totalBytes`, context);
if (total !== +process.argv[4])
	throw new Error('the viewer adds up ' + total);
