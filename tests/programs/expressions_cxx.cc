// Measured C++ expressions are the same as unmeasured ones: value category, lifetime of temporaries, type.
// Compiled without hotpath this program says the same.
#include <hotpath.h>

#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{
// Says when what it holds ends. What was moved away is nobody's end.
struct holder {
    explicit holder(const char *name_) : name(name_) {}
    holder(holder &&other) noexcept : name(other.name) { other.name = nullptr; }
    holder(const holder &) = delete;
    holder &operator=(const holder &) = delete;
    ~holder()
    {
        if (name != nullptr)
            std::printf("end of %s\n", name);
    }
    const char *text() const { return name; }
    const char *name;
};

struct base {
    virtual ~base() {}
    virtual const char *who() const { return "base"; }
};
struct derived : base {
    const char *who() const override { return "derived"; }
};

holder make(const char *name)
{
    HOTPATH_MEASURE();
    return holder(name);
}

void nothing() { HOTPATH_MEASURE(); }

int throws(int n)
{
    if (n >= 0)
        throw n;
    return n;
}

template <typename T> T next(T value)
{
    return HOTPATH_EXPR("in a template", HOTPATH_EXPR("and inside", value + 1) + 0);
}

void lifetimes()
{
    std::printf("use of %s\n", HOTPATH_EXPR("temporary", make("temporary").text()));
    const holder &extended = HOTPATH_EXPR("extended", make("extended"));
    holder kept = HOTPATH_EXPR("kept", make("kept"));
    HOTPATH_EXPR("dropped", make("dropped"));
    std::printf("%s and %s live\n", extended.text(), kept.text());
    std::unique_ptr<int> owned = HOTPATH_EXPR("move only", std::unique_ptr<int>(new int(3)));
    std::printf("owned %d\n", *owned);
    const std::string &text = HOTPATH_EXPR("text", std::string(100, 'x'));
    std::printf("text %zu\n", text.size());
}

void places()
{
    int number = 1, numbers[10] = {};
    HOTPATH_EXPR("assigned", number) = 2;
    ++HOTPATH_EXPR("increased", number);
    HOTPATH_EXPR("postfix", number++);
    int *place = &HOTPATH_EXPR("address", number), &first = HOTPATH_EXPR("reference", numbers)[0];
    std::printf("places %d %d %zu\n", number, place == &number, sizeof(HOTPATH_EXPR("array", numbers)));
    derived object;
    base &as_base = object;
    std::printf("same %d %s\n", &first == numbers, HOTPATH_EXPR("polymorphic", as_base).who());
    std::vector<bool> bits(3);
    HOTPATH_EXPR("proxy", bits[1]) = true;
    const std::pair<int, int> both = HOTPATH_EXPR("comma", std::pair<int, int>(1, 2));
    std::printf("bits %d, both %d\n", bits[1] ? 1 : 0, both.second);
}

void types()
{
    const int constant = 1;
    int number = 2, *pointer = &number;
    *pointer = 3;
    typedef decltype(HOTPATH_EXPR("const", constant)) const_type;
    typedef decltype(HOTPATH_EXPR("value", constant + 1)) value_type;
    typedef decltype(HOTPATH_EXPR("void", nothing())) void_type;
    typedef decltype(HOTPATH_EXPR("pointer", pointer)) pointer_type;
    typedef decltype(HOTPATH_EXPR("class", make("never"))) class_type;
    typedef decltype(HOTPATH_EXPR("literal", "text")) literal_type;
    typedef decltype(HOTPATH_EXPR("function", nothing)) function_type;
    std::printf("types %d%d%d%d%d%d%d\n", std::is_same<const_type, decltype((constant))>::value,
                std::is_same<value_type, int>::value, std::is_same<void_type, void>::value,
                std::is_same<pointer_type, int *&>::value, std::is_same<class_type, holder>::value,
                std::is_same<literal_type, const char(&)[5]>::value,
                std::is_same<function_type, void (&)()>::value);
}

void ways_out()
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        HOTPATH_EXPR("no value", nothing());
        try {
            sum += HOTPATH_EXPR("throws", throws(i)) + HOTPATH_EXPR("never reached", i);
        } catch (int thrown) {
            sum += thrown;
        }
        sum += next(i);
        if (HOTPATH_EXPR("condition", i > 7) && HOTPATH_EXPR("last", i > 8))
            sum += HOTPATH_EXPR("left", make("left")).text()[0] + HOTPATH_EXPR("right", make("right")).text()[0];
    }
    std::printf("sum %d\n", sum);
}
} // namespace

int main()
{
    HOTPATH_MAIN();
    lifetimes();
    places();
    types();
    ways_out();
    return 0;
}
