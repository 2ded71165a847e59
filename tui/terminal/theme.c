#include "tui/terminal/theme.h"
#include "core/base/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned mono;
} roles[] = {
#define X(id, name, mono) {name, mono},
	MT_ROLES(X)
#undef X
};

static const struct {
	const char *name;
	unsigned bit;
} attributes[] = {
	{"bold", MT_STYLE_BOLD},
	{"dim", MT_STYLE_DIM},
	{"underline", MT_STYLE_UNDERLINE},
	{"reverse", MT_STYLE_REVERSE},
	{"italic", MT_STYLE_ITALIC},
};

void mt_theme_mono(struct mt_theme *theme)
{
	for (int i = 0; i < MT_ROLE_COUNT; i++)
		theme->style[i] =
			(struct mt_style){MT_COLOUR_DEFAULT, MT_COLOUR_DEFAULT, roles[i].mono};
}

#define UNSAID (-2) /* a background: that of text */

struct place {
	const char *file;
	int line;
	struct mt_err *err;
};

static int find_role(const char *word)
{
	for (int i = 0; i < MT_ROLE_COUNT; i++)
		if (!strcmp(roles[i].name, word))
			return i;
	return -1;
}

static bool parse_colour(const char *word, int *colour)
{
	char *end;

	if (!strcmp(word, "default")) {
		*colour = MT_COLOUR_DEFAULT;
		return true;
	}
	if (word[0] != '#' || strlen(word) != 7 || strspn(word + 1, "0123456789abcdefABCDEF") != 6)
		return false;
	*colour = (int)strtol(word + 1, &end, 16);
	return true;
}

static int parse_style(struct mt_style *style, char *text, const struct place *at)
{
	char *rest = NULL;
	int colours = 0;

	*style = (struct mt_style){MT_COLOUR_DEFAULT, UNSAID, 0};
	for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		bool known = false;
		int colour;

		if (!strcmp(word, "#"))
			break;
		if (parse_colour(word, &colour)) {
			if (colours == 2)
				return mt_fail(at->err, -EINVAL,
					"%s:%d: third colour '%s'; expected foreground, "
					"background and attributes",
					at->file, at->line, word);
			*(colours++ ? &style->background : &style->foreground) = colour;
			continue;
		}
		for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
			if (!strcmp(attributes[i].name, word)) {
				style->attributes |= attributes[i].bit;
				known = true;
			}
		if (!known)
			return mt_fail(at->err, -EINVAL,
				"%s:%d: '%s' is neither a colour (#rrggbb or default) nor an "
				"attribute (bold, dim, underline, reverse, italic)",
				at->file, at->line, word);
	}
	if (!colours && !style->attributes)
		return mt_fail(at->err, -EINVAL,
			"%s:%d: nothing after '='; expected a colour like #d0d0d0", at->file,
			at->line);
	return 0;
}

static int parse_line(struct mt_theme *theme, char *line, const struct place *at)
{
	char *start = line + strspn(line, " \t");
	char *equals = strchr(start, '=');

	if (!*start || *start == '#')
		return 0;
	if (!equals)
		return mt_fail(at->err, -EINVAL,
			"%s:%d: no '=' in the line; expected: role = foreground background "
			"attributes",
			at->file, at->line);
	char *end = equals;

	while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	int role = find_role(start);

	if (role < 0)
		return mt_fail(at->err, -EINVAL,
			"%s:%d: unknown role '%s'; expected text, title, selected ...: see "
			"themes/dark.theme",
			at->file, at->line, start);
	return parse_style(&theme->style[role], equals + 1, at);
}

/* Of themes that were written before groups had colours (after Okabe and Ito, "Color Universal
 * Design", 2008). */
static const int usual_groups[] = {0xe0703a, 0x56b4e9, 0xe6d44a, 0x2fa37c, 0xcc88bb, 0x8a8a8a};

int mt_theme_parse(struct mt_theme *theme, const char *file_name, const char *text,
	struct mt_err *err)
{
	struct place at = {file_name, 0, err};
	struct mt_theme parsed;
	char *copy = mt_strdup(text), *next = copy;
	int result = 0;

	for (int i = 0; i < MT_ROLE_COUNT; i++)
		parsed.style[i] = (struct mt_style){MT_COLOUR_DEFAULT, UNSAID, 0};
	while (!result && next) {
		char *line = strsep(&next, "\n");

		at.line++;
		line[strcspn(line, "\r")] = '\0';
		result = parse_line(&parsed, line, &at);
	}
	free(copy);
	if (result)
		return result;
	if (parsed.style[MT_ROLE_TEXT].background == UNSAID)
		parsed.style[MT_ROLE_TEXT].background = MT_COLOUR_DEFAULT;
	for (int i = 0; i <= MT_ROLE_OTHER - MT_ROLE_GROUP_1; i++) {
		struct mt_style *style = &parsed.style[MT_ROLE_GROUP_1 + i];

		if (style->foreground == MT_COLOUR_DEFAULT && style->background == UNSAID
			&& parsed.style[MT_ROLE_TEXT].foreground != MT_COLOUR_DEFAULT)
			*style = (struct mt_style){usual_groups[i], UNSAID, 0};
	}
	for (int i = 0; i < MT_ROLE_COUNT; i++)
		if (parsed.style[i].background == UNSAID)
			parsed.style[i].background = parsed.style[MT_ROLE_TEXT].background;
	*theme = parsed;
	return 0;
}

static int distance(int a, int b)
{
	int red = (a >> 16) - (b >> 16), green = (a >> 8 & 255) - (b >> 8 & 255);
	int blue = (a & 255) - (b & 255);

	return 2 * red * red + 4 * green * green + 3 * blue * blue;
}

static int palette(int index)
{
	static const int basic[] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
		0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff,
		0x00ffff, 0xffffff};
	static const int cube[] = {0, 95, 135, 175, 215, 255};

	if (index < 16)
		return basic[index];
	if (index >= 232) {
		int grey = 8 + (index - 232) * 10;

		return grey << 16 | grey << 8 | grey;
	}
	index -= 16;
	return cube[index / 36] << 16 | cube[index / 6 % 6] << 8 | cube[index % 6];
}

int mt_theme_nearest(int rgb, int colours)
{
	if (rgb >= 0 && rgb & MT_COLOUR_INDEX) {
		if ((rgb & 255) < colours && colours < 0x1000000)
			return rgb & 255;
		rgb = palette(rgb & 255);
	}
	if (rgb < 0 || colours >= 0x1000000)
		return rgb;
	/* The first 16 of 256 are the user's own choice: nobody knows what they look like. */
	int first = colours >= 256 ? 16 : 0, last = colours >= 256 ? 256 : colours >= 16 ? 16 : 8;
	int best = first;

	for (int i = first; i < last; i++)
		if (distance(palette(i), rgb) < distance(palette(best), rgb))
			best = i;
	return best;
}

static int brightness(int rgb)
{
	return ((rgb >> 16 & 255) * 2 + (rgb >> 8 & 255) * 5 + (rgb & 255)) / 8;
}

/* The nearest of few colours would be the same for several groups. These can be seen on light and
 * on dark backgrounds. */
static int colour_of_group(const struct mt_theme *theme, enum mt_role role, int colours)
{
	static const int clear[] = {1, 6, 3, 2, 5, 4};
	int rgb = theme->style[role].foreground;

	if (colours >= 256 || rgb < 0)
		return mt_theme_nearest(rgb, colours);
	return role == MT_ROLE_OTHER && colours >= 16 ? 8 : clear[role - MT_ROLE_GROUP_1];
}

/* Black or white, in the terms of the terminal, as is the colour. */
static int text_on(int colour, int colours)
{
	bool bright = brightness(colours >= 0x1000000 ? colour : palette(colour)) > 110;

	return mt_theme_nearest(bright ? 0x000000 : 0xffffff, colours);
}

void mt_theme_pair(const struct mt_theme *theme, enum mt_role role, int colours, int *foreground,
	int *background)
{
	bool bar = role >= MT_ROLE_BAR_1, group = role >= MT_ROLE_GROUP_1 && role <= MT_ROLE_OTHER;
	enum mt_role of = bar ? MT_ROLE_GROUP_1 + (role - MT_ROLE_BAR_1) : role;
	const struct mt_style *style = &theme->style[of];

	if (bar) {
		*background = colour_of_group(theme, of, colours);
		*foreground = *background < 0 ? *background : text_on(*background, colours);
		return;
	}
	if (group) {
		*foreground = colour_of_group(theme, role, colours);
		*background = mt_theme_nearest(style->background, colours);
		return;
	}
	*foreground = mt_theme_nearest(style->foreground, colours);
	*background = mt_theme_nearest(style->background, colours);
	if (colours >= 256 || *foreground < 0)
		return;
	/* With few colours two shades may become one, and nobody knows what the terminal's own
	 * background is. */
	if (*background < 0 && (*foreground == 0 || *foreground == 7 || *foreground == 15))
		*foreground = MT_COLOUR_DEFAULT;
	else if (*foreground == *background)
		*foreground = brightness(palette(*background)) > 110 ? 0 : colours >= 16 ? 15 : 7;
}
