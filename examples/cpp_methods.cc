// C++: the same macros. Methods are named Class::method, an exception ends a zone like any other way out, and
// options are given by calls: .limit(20).
#include <hotpath.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace text
{
class Words
{
  public:
    explicit Words(const std::string &line)
    {
        HOTPATH_MEASURE();
        std::string::size_type from = 0, to;
        while ((to = line.find(' ', from)) != std::string::npos) {
            add(line.substr(from, to - from));
            from = to + 1;
        }
        add(line.substr(from));
    }

    std::size_t longest() const
    {
        HOTPATH_MEASURE();
        std::size_t length = 0;
        for (const std::string &word : words_)
            length = word.size() > length ? word.size() : length;
        return length;
    }

  private:
    void add(const std::string &word)
    {
        HOTPATH_MEASURE();
        if (word.empty())
            throw std::invalid_argument("empty word");
        words_.push_back(word);
    }

    std::vector<std::string> words_;
};
} // namespace text

int main()
{
    HOTPATH_MAIN(.percentiles("50,99").limit(20));
    std::size_t sum = 0, failed = 0;
    for (int i = 0; i < 1000; i++) {
        try {
            const text::Words words(i % 10 == 0 ? "one  three" : "one two three");
            sum += HOTPATH_EXPR("longest word", words.longest());
        } catch (const std::invalid_argument &) {
            failed++;
        }
    }
    std::printf("%zu %zu\n", sum, failed);
    return 0;
}
