// For cc1plus to compile, preprocessed: templates of <regex> and <map>. Never linked nor run.
#include <map>
#include <regex>
#include <string>

std::map<std::string, int> settings(const std::string &text)
{
	static const std::regex line("(\\w+)\\s*=\\s*(\\d+)");
	std::map<std::string, int> found;

	for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i)
		found[(*i)[1]] += std::stoi((*i)[2]);
	return found;
}
