// Every macro of the header, in every place of C++ it is meant for.
#include <hotpath.h>

#include <exception>
#include <utility>

namespace
{
struct shape {
    explicit shape(int sides_) : sides(sides_) { HOTPATH_MEASURE(); }
    shape(const shape &) = default;
    virtual ~shape() { HOTPATH_MEASURE(); }
    virtual int area() const
    {
        HOTPATH_MEASURE();
        return sides;
    }
    shape &operator+=(int more)
    {
        HOTPATH_MEASURE_AS("grow");
        sides += more;
        return *this;
    }
    static int corners(const shape &of) noexcept
    {
        HOTPATH_MEASURE();
        return of.sides;
    }
    int sides;
};

struct move_only {
    explicit move_only(int value_) : value(value_) {}
    move_only(move_only &&) = default;
    int value;
};

template <typename First, typename... Rest> First sum(First first, Rest... rest)
{
    HOTPATH_MEASURE(); HOTPATH_BLOCK("same line");
    First total = first;
    const First others[] = {static_cast<First>(rest)...};
    for (const First &other : others) {
        HOTPATH_BLOCK("add");
        if (other == 0)
            continue;
        total += other;
    }
    return total;
}

int throws(int n)
{
    HOTPATH_MEASURE();
    try {
        HOTPATH_BLOCK("try");
        if (n > 1)
            throw std::exception();
    } catch (const std::exception &) {
        HOTPATH_BLOCK("catch");
        return 1;
    }
    return 0;
}

int function_try(int n)
try {
    HOTPATH_MEASURE();
    return throws(n);
} catch (...) {
    HOTPATH_BLOCK("function catch");
    return 2;
}

int logged(const char *key, int n)
{
    HOTPATH_MEASURE(.log(1)); HOTPATH_NOTE("no arguments"); HOTPATH_NOTE("%s: %d", key, n);
    if (n > 3)
        HOTPATH_NOTE("large");
    else
        HOTPATH_NOTE("%d", n), n++;
    { HOTPATH_MEASURE_AS("other", .log(true)); HOTPATH_BLOCK("block", .log(1)); n++; }
    HOTPATH_BLOCK_KEY("key", key); HOTPATH_BLOCK_KEY("key", n > 3 ? "many" : "few");
    return n;
}

HOTPATH_NO_MEASURE int skipped(int n)
{
    return n;
}

void nothing()
{
    HOTPATH_MEASURE();
}
} // namespace

int main()
{
    HOTPATH_MAIN(.percentiles("50,95,99.9").limit(20));
    {
        HOTPATH_SESSION();
        nothing();
    }
    {
        HOTPATH_SESSION(.format("none").limit(HOTPATH_NO_LIMIT).exclude_wrapper(true));
        nothing();
    }
    const auto lambda = [](int n) {
        HOTPATH_MEASURE();
        return HOTPATH_EXPR("in a lambda", n + 1);
    };
    HOTPATH_BEGIN(zone, "zone");
    shape square(4);
    square += HOTPATH_EXPR("lambda", lambda(1));
    HOTPATH_EXPR("void", nothing());
    const std::pair<int, int> both =
        HOTPATH_EXPR("commas", std::pair<int, int>(square.area(), shape::corners(square)));
    const move_only moved = HOTPATH_EXPR("move only", move_only(2));
    HOTPATH_END(zone);
    return sum(both.first, both.second, 3L) + function_try(2) + skipped(1) + logged("key", 2) + moved.value;
}
