/*
 * Expressions that HOTPATH_EXPR cannot support do not compile: see refused.sh. Each case is one line, with the
 * compilers' message.
 */
#include <hotpath.h>

struct narrow {
    unsigned bits : 3;
};

int refused(int n);

int refused(int n)
{
    int array[10] = {n}, *pointer = array;
    struct narrow narrow = {1};
    __extension__ int variable[n];
    __extension__ int(*rows)[n] = &variable;
    variable[0] = (int)(*rows)[0] + narrow.bits;
    n += pointer[0] + HOTPATH_EXPR("kept", array[0]) + *HOTPATH_EXPR("a pointer instead", &array[0]);
#ifdef REFUSED_array /* would become a pointer */
    n += (int)sizeof(HOTPATH_EXPR("array", array));
#endif
#ifdef REFUSED_array_decays /* would become a pointer */
    pointer = HOTPATH_EXPR("array", array);
#endif
#ifdef REFUSED_string /* would become a pointer */
    n += (int)sizeof(HOTPATH_EXPR("string", "text"));
#endif
#ifdef REFUSED_function /* would become a pointer */
    n += HOTPATH_EXPR("function", refused)(1);
#endif
#ifdef REFUSED_variable_array /* would become a pointer */
    n += (int)sizeof(HOTPATH_EXPR("array", variable));
#endif
#ifdef REFUSED_variably_modified /* variably_modified|cannot jump from switch */
    rows = HOTPATH_EXPR("rows", (n++, rows));
#endif
#ifdef REFUSED_bits /* bit-field */
    n += (int)HOTPATH_EXPR("bits", narrow.bits);
#endif
#ifdef REFUSED_assigned /* lvalue|not assignable */
    HOTPATH_EXPR("assigned", n) = 3;
#endif
#ifdef REFUSED_address /* lvalue|rvalue */
    pointer = &HOTPATH_EXPR("address", n);
#endif
#ifdef REFUSED_member /* lvalue|not assignable */
    HOTPATH_EXPR("member", narrow).bits = 2;
#endif
    return n;
}
