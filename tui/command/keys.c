/* memtui help keys: what every key does, as the user's file has it. */
#include "tui/command/commands.h"
#include "tui/user/keymap.h"

#include <stdlib.h>
#include <string.h>

const char mt_help_keys[] =
	"Each line of the file changes a key; # begins a comment. 'bind SCOPE KEY "
	"ACTION' gives a key an action, 'unbind SCOPE KEY' takes it away. --keymap "
	"names another file. memtui reports wrong lines by file and number, and "
	"ignores them.\n\nA scope is where the key has the action: move, fold, "
	"views, find, out, app and live (while a program runs) apply everywhere, the "
	"others only in the view of their name. If a key has an action in the view "
	"and another everywhere, the view's wins; 'memtui help keys' lists such "
	"keys.\n\nA key is a character, ^X for Ctrl and a letter, F1 to F12, or one "
	"of " MT_KEY_NAMES ". Hash is the character #. Windows over a view (help, palette, menus, "
	"prompts) keep their keys: Enter, Esc, and those of move.";
const char mt_help_keys_examples[] =
	"bind app F9 quit\tadd a key for an action\nbind tree x collapse\tadd a key "
	"in the call tree only\nunbind app Q\tremove Q; F10 and ^C still quit\n";

static void put_json(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++)
		fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	putc('"', out);
}

static void print_json(FILE *out)
{
	for (int i = 0; i < MT_ACTION_COUNT; i++) {
		const struct mt_action_info *info = mt_action_info((enum mt_action)i);
		const struct mt_binding *b;
		char id[32], scope[32], key[16];
		int count = 0;

		fprintf(out,
			"%s{\"action\": \"%s\", \"scope\": \"%s\", \"name\": ", i ? ",\n " : "[",
			mt_action_id((enum mt_action)i, id), mt_scope_id(info->scope, scope));
		put_json(out, info->name);
		fputs(", \"words\": ", out);
		put_json(out, info->words);
		fputs(", \"keys\": [", out);
		for (uint32_t k = 0; (b = mt_keymap_at(k)); k++) {
			if (b->action != (enum mt_action)i)
				continue;
			fputs(count++ ? ", " : "", out);
			put_json(out, mt_key_name(b->code, key));
		}
		fputs("]}", out);
	}
	fputs("]\n", out);
}

/* Keys that the user has bound in other scopes than the action's own say so. */
static void print_action(FILE *out, enum mt_action what)
{
	const struct mt_binding *b;
	char id[32], scope[32], key[16];
	int width = fprintf(out, "  %-18s", mt_action_id(what, id));

	for (uint32_t k = 0; (b = mt_keymap_at(k)); k++) {
		if (b->action != what)
			continue;
		width += fprintf(out, " %s", mt_key_name(b->code, key));
		if (b->scope != mt_action_info(what)->scope)
			width += fprintf(out, " (%s)", mt_scope_id(b->scope, scope));
	}
	fprintf(out, "%*s  %s\n", width < 38 ? 38 - width : 0, "", mt_action_info(what)->words);
}

void mt_keymap_print(FILE *out, bool json)
{
	struct mt_buffer conflicts = {0};
	char scope[32];

	if (json) {
		print_json(out);
		return;
	}
	for (int s = 0; s < MT_SCOPE_COUNT; s++) {
		fprintf(out, "%s: %s\n", mt_scope_id((enum mt_scope)s, scope),
			mt_scope_words((enum mt_scope)s));
		for (int i = 0; i < MT_ACTION_COUNT; i++)
			if ((int)mt_action_info((enum mt_action)i)->scope == s)
				print_action(out, (enum mt_action)i);
	}
	if (mt_keymap_conflicts(&conflicts))
		fprintf(out, "\nKeys with two actions:\n%s", (const char *)conflicts.data);
	else
		fputs("\nNo key has two actions in one view.\n", out);
	mt_buffer_free(&conflicts);
	fputs("\nChange them in $XDG_CONFIG_HOME/memtui/keys "
	      "(~/.config/memtui/keys), or a file for --keymap:\n"
	      "  bind SCOPE KEY ACTION     as in: bind app F9 quit\n"
	      "  unbind SCOPE KEY          as in: unbind app Q\n",
		out);
}
