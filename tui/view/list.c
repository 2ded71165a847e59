#include "tui/view/list.h"

void mt_list_select(struct mt_list *l, uint32_t index)
{
	l->selected = !l->count ? 0 : index < l->count ? index : l->count - 1;
}

static void move_by(struct mt_list *l, int64_t by)
{
	int64_t to = (int64_t)l->selected + by;

	mt_list_select(l, to < 0 ? 0 : to > UINT32_MAX ? UINT32_MAX : (uint32_t)to);
}

bool mt_list_move(struct mt_list *l, enum mt_action action)
{
	int page = l->rows > 1 ? l->rows - 1 : 1;

	switch (action) {
	case MT_ACTION_DOWN: move_by(l, 1); break;
	case MT_ACTION_UP: move_by(l, -1); break;
	case MT_ACTION_TOP: l->selected = 0; break;
	case MT_ACTION_BOTTOM: mt_list_select(l, UINT32_MAX); break;
	case MT_ACTION_HALF_DOWN: move_by(l, (page + 1) / 2); break;
	case MT_ACTION_HALF_UP: move_by(l, -(page + 1) / 2); break;
	case MT_ACTION_PAGE_DOWN: move_by(l, page); break;
	case MT_ACTION_PAGE_UP: move_by(l, -page); break;
	case MT_ACTION_CENTRE:
		l->top = l->selected > (uint32_t)l->rows / 2
			? l->selected - (uint32_t)l->rows / 2
			: 0;
		break;
	default: return false;
	}
	l->held = action != MT_ACTION_TOP;
	return true;
}

void mt_list_keep(struct mt_list *l, uint32_t count, uint32_t index)
{
	uint32_t place = l->selected >= l->top ? l->selected - l->top : 0;

	l->count = count;
	if (!l->held) {
		l->selected = l->top = 0;
		return;
	}
	if (index < count)
		l->selected = index;
	mt_list_select(l, l->selected);
	l->top = l->selected > place ? l->selected - place : 0;
}

void mt_list_fit(struct mt_list *l, int rows)
{
	uint32_t seen = rows > 0 ? (uint32_t)rows : 1;

	l->rows = rows;
	if (l->selected < l->top)
		l->top = l->selected;
	if (l->selected >= l->top + seen)
		l->top = l->selected - seen + 1;
	if (l->top && l->top + seen > l->count)
		l->top = l->count > seen ? l->count - seen : 0;
}
