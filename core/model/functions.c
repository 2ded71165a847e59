/* The tables of domains and allocator functions. */
#include "core/base/assert.h"
#include "core/model/profile.h"

#include <string.h>

static const struct {
	const char *name;
	struct mt_domain domain;
} domains[MT_DOMAIN_FIRST] = {
#define X(id, name, bits, flags) [MT_DOMAIN_##id] = {name, {0, bits, flags}},
	MT_DOMAINS(X)
#undef X
};

static const struct {
	const char *name;
	struct mt_allocator_function function;
} functions[MT_FUNCTION_FIRST] = {
#define X(id, name, domain, role, family) \
	[MT_FUNCTION_##id] = {name, {0, MT_DOMAIN_##domain, MT_CALL_##role, MT_FAMILY_##family}},
	MT_FUNCTIONS(X)
#undef X
};

void mt_profile_predefine(struct mt_profile *p)
{
	for (unsigned i = 0; i < MT_DOMAIN_FIRST; i++)
		mt_profile_add_domain(p, &domains[i].domain);
	for (unsigned i = 0; i < MT_FUNCTION_FIRST; i++)
		mt_profile_add_function(p, &functions[i].function);
}

bool mt_profile_is_name(const struct mt_profile *p, uint32_t string)
{
	const char *name = string < p->strings.count ? mt_strings_get(&p->strings, string) : "";
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (name[i] < ' ' || name[i] > '~' || strchr(",;\"", name[i]))
			return false;
	return len && len <= MT_FUNCTION_NAME_MAX;
}

uint32_t mt_profile_add_domain(struct mt_profile *p, const struct mt_domain *domain)
{
	mt_assert(p->domain_count < MT_DOMAINS_MAX);
	MT_GROW(p->domains, p->domain_count, p->domain_capacity);
	p->domains[p->domain_count] = *domain;
	return p->domain_count++;
}

uint32_t mt_profile_add_function(struct mt_profile *p, const struct mt_allocator_function *function)
{
	mt_assert(
		p->function_count < MT_FUNCTIONS_MAX && mt_profile_has_domain(p, function->domain));
	MT_GROW(p->functions, p->function_count, p->function_capacity);
	p->functions[p->function_count] = *function;
	return p->function_count++;
}

uint32_t mt_profile_function_pc(struct mt_profile *p, uint32_t function)
{
	const struct mt_pc pc = {function, MT_NO_MODULE, MT_PC_FLAG_FUNCTION};

	mt_assert(function < p->function_count);
	if (function < MT_FUNCTION_FIRST)
		return function;
	for (uint32_t i = MT_PC_FIRST; i < p->pc_count; i++)
		if (p->pcs[i].flags & MT_PC_FLAG_FUNCTION && p->pcs[i].address == function)
			return i;
	return mt_profile_add_pc(p, &pc);
}

const char *mt_profile_function_name(const struct mt_profile *p, uint32_t function)
{
	const char *name = function < MT_FUNCTION_FIRST ? functions[function].name
		: function < p->function_count
		? mt_strings_get(&p->strings, p->functions[function].name)
		: NULL;

	return name ? name : "?";
}

const char *mt_profile_domain_name(const struct mt_profile *p, uint32_t domain)
{
	if (!mt_profile_has_domain(p, domain))
		return "?";
	return domain < MT_DOMAIN_FIRST ? domains[domain].name
					: mt_strings_get(&p->strings, p->domains[domain].name);
}
