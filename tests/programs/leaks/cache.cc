// A map that remembers the answer to every question and forgets none, beside a cache that has a limit and strings that
// come and go.
#include "common.h"

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

static int guilty_line;
static unsigned long leaked, leaked_bytes;

struct answer {
	std::unique_ptr<char[]> body;
	size_t size = 0;
};

// ---- without a limit ----
static auto &remembered = *new std::unordered_map<uint64_t, answer>; // not even at the end

static NOINLINE void remember(uint64_t question, size_t size)
{
	answer &a = remembered[question];

	guilty_line = __LINE__ + 1;
	a.body.reset(new char[size]);
	a.size = size;
	fill(a.body.get(), size);
	leaked++;
	leaked_bytes += size;
}

// ---- with one ----
static std::list<std::pair<uint64_t, std::string>> recent;

static NOINLINE void keep_recent(uint64_t question)
{
	recent.emplace_front(question, std::string(200 + question % 300, 'r'));
	if (recent.size() > 500)
		recent.pop_back();
}

// ---- what comes and goes ----
static std::vector<std::string> batch;

static NOINLINE void collect(uint64_t question)
{
	batch.push_back("question number " + std::to_string(question) + " of a user who asked it");
	if (batch.size() == 700) {
		batch.clear();
		batch.shrink_to_fit();
	}
}

static NOINLINE size_t render(uint64_t question)
{
	std::string page(1000 + question % 5000, 'p');

	for (unsigned i = 0; i < 3; i++)
		page += std::string(100, 'q');
	return page.size();
}

int main(int argc, char **argv)
{
	std::vector<std::string> names;
	size_t rendered = 0;

	begin(argc, argv, 2000);
	for (unsigned i = 0; i < 3000; i++) // a warm-up, which stays
		names.push_back(std::string(100 + next_random(100), 'n'));
	for (unsigned long done = 0; next_request(done); done++) {
		uint64_t question = done << 16 | next_random(1 << 16);

		rendered += render(question);
		collect(question);
		keep_recent(question);
		if (done % 20 == 0)
			remember(question, 90 + next_random(60));
	}
	tell_truth("remember", __FILE__, guilty_line, leaked, leaked_bytes);
	return rendered == 1;
}
