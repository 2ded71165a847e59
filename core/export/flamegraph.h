/* What a flame graph does in a browser: search, zoom, details, keys. Layout is that of
 * export_flamegraph.c. */
#ifndef MT_EXPORT_FLAMEGRAPH_H
#define MT_EXPORT_FLAMEGRAPH_H

/* pixels of a character, of a font of 12 pixels whose characters have one width */
#define MT_FLAME_CHARACTER 7.25
#define MT_FLAME_INSET 3 /* between a frame's edge and its name */

/* ECMAScript without '<![CDATA[' or its end. It holds no data: names stand in the document and are
 * set as text alone. */
extern const char mt_flame_script[];

#endif
