// Expressions that HOTPATH_EXPR cannot support do not compile: see refused.sh. Each case is one line, with the
// compilers' message.
#include <hotpath.h>

struct narrow {
    unsigned bits : 3;
};
struct unmovable {
    explicit unmovable(int value_) : value(value_) {}
    unmovable(const unmovable &) = delete;
    int value;
};
struct text {
    int size() const { return 1; }
};
struct named {
    text name;
};

int refused(int n);

int refused(int n)
{
    narrow some = {1};
    named other;
    n += HOTPATH_EXPR("kept", static_cast<int>(some.bits)) + HOTPATH_EXPR("kept", unmovable(1).value + 1);
    const text &lives = HOTPATH_EXPR("kept", other.name);
#ifdef REFUSED_bits /* bit-field */
    n += static_cast<int>(HOTPATH_EXPR("bits", some.bits));
#endif
#ifdef REFUSED_moved /* rvalue reference cannot be measured */
    other.name = HOTPATH_EXPR("moved", static_cast<text &&>(other.name));
#endif
#ifdef REFUSED_part /* rvalue reference cannot be measured */
    const text &part = HOTPATH_EXPR("part of a temporary", named().name);
    n += part.size();
#endif
#ifdef REFUSED_unmovable /* neither moved nor copied */
    n += HOTPATH_EXPR("unmovable", unmovable(2)).value;
#endif
#ifdef REFUSED_constant /* constant expression|non-.constexpr. function */
    constexpr int constant = HOTPATH_EXPR("constant", 3);
    n += constant;
#endif
    return n + lives.size();
}
