/*
 * Patterns: a compiler for small regular expressions and a simulation of the resulting automaton.
 *
 * The program is Thompson's construction, as a sequence of steps. A step with two successors continues at the next
 * step and at `jump` steps from itself. Jumps are relative and never leave the piece of program of their
 * expression, so a piece can be moved (to put a step in front of it) and copied (for x{3}).
 *
 * Matching keeps the set of possible steps as bits, and moves the whole set over one byte at a time. Names and
 * patterns come from outside, so a backtracking matcher, which is exponential for (a*)*b, would not do.
 *
 * Compiler and matcher are one file: the steps of the program are known nowhere else.
 *
 * SPDX-License-Identifier: MIT
 */
#include "pattern.h"

#include <stddef.h>
#include <string.h>

#include "text.h"

enum step_kind {
    STEP_MATCH,
    STEP_BYTE,  /* argument: the byte, in lower case where case is ignored */
    STEP_ANY,   /* any byte */
    STEP_SET,   /* argument: index of the set */
    STEP_SPLIT, /* the next step, and `jump` */
    STEP_JUMP,  /* only `jump` */
    STEP_AT_START,
    STEP_AT_END,
    STEP_AT_EDGE,    /* between a word byte and another */
    STEP_NOT_AT_EDGE /* anywhere else */
};

#define MAX_REPEAT 255u
#define UNBOUNDED UINT32_MAX
#define NO_ATOM SIZE_MAX

_Static_assert(HP_PATTERN_STEPS % 64 == 0, "sets of steps are made of whole words");
_Static_assert(HP_PATTERN_STEPS <= INT16_MAX, "a jump reaches every step");

/* ------------------------------------------------------------------------------------------------ bytes */

static bool is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }

static bool is_letter(unsigned char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }

static bool is_word(unsigned char byte) { return is_digit(byte) || is_letter(byte) || byte == '_'; }

static bool is_blank(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

static unsigned char to_lower(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + ('a' - 'A')) : byte;
}

static unsigned char to_upper(unsigned char byte)
{
    return byte >= 'a' && byte <= 'z' ? (unsigned char)(byte - ('a' - 'A')) : byte;
}

static void set_add(uint64_t set[4], unsigned byte) { set[byte / 64] |= UINT64_C(1) << byte % 64; }

static bool set_has(const uint64_t set[4], unsigned byte) { return set[byte / 64] >> byte % 64 & 1; }

static void set_add_range(uint64_t set[4], unsigned first, unsigned last)
{
    for (unsigned byte = first; byte <= last; byte++)
        set_add(set, byte);
}

/* Adds the bytes of \d, \w, \s or their complements. False: `letter` is none of them. */
static bool set_add_class(uint64_t set[4], unsigned char letter)
{
    bool (*belongs)(unsigned char);
    switch (to_lower(letter)) {
    case 'd':
        belongs = is_digit;
        break;
    case 'w':
        belongs = is_word;
        break;
    case 's':
        belongs = is_blank;
        break;
    default:
        return false;
    }
    const bool is_opposite = letter != to_lower(letter);
    for (unsigned byte = 0; byte < 256; byte++)
        if (belongs((unsigned char)byte) != is_opposite)
            set_add(set, byte);
    return true;
}

static void set_fold_case(uint64_t set[4])
{
    for (unsigned byte = 'a'; byte <= 'z'; byte++) {
        const unsigned upper = to_upper((unsigned char)byte);
        if (set_has(set, byte))
            set_add(set, upper);
        else if (set_has(set, upper))
            set_add(set, byte);
    }
}

/* --------------------------------------------------------------------------------------------- compiling */

/*
 * An open group. Each finished alternative ends in a STEP_JUMP that is patched when the end of the group is known.
 */
struct group {
    size_t start;     /* first step of the group */
    size_t branch;    /* first step of the alternative being read */
    size_t last_jump; /* the latest unpatched jump, whose `jump` is the index of the one before; 0: none */
    size_t opened_at; /* position of its parenthesis in the text */
};

struct compiler {
    struct hp_pattern *pattern;
    const char *text;
    size_t at;   /* next byte to read */
    size_t end;  /* the closing slash */
    size_t atom; /* first step of what a repetition would repeat, or NO_ATOM */
    size_t depth;
    struct group groups[HP_PATTERN_DEPTH + 1];
};

/* Always false, so that a caller can return it. `at` counts from 0 in the given text. */
static bool fail(struct compiler *compiler, const char *what, size_t at)
{
    struct hp_text error;
    hp_text_init(&error, compiler->pattern->error, sizeof compiler->pattern->error);
    hp_text_format(&error, "%s at byte %zu", what, at + 1);
    hp_text_end(&error);
    return false;
}

static bool fail_too_long(struct compiler *compiler)
{
    return fail(compiler, "the expression is too long", compiler->at - 1);
}

static size_t step_count(const struct compiler *compiler) { return compiler->pattern->step_count; }

/* Makes room for one step before `index`. What follows moves as a whole, so its relative jumps stay right. */
static bool insert_step(struct compiler *compiler, size_t index, enum step_kind kind, unsigned argument,
                        ptrdiff_t jump)
{
    struct hp_pattern *pattern = compiler->pattern;
    if (pattern->step_count == HP_PATTERN_STEPS)
        return fail_too_long(compiler);
    struct hp_pattern_step *step = &pattern->steps[index];
    memmove(step + 1, step, (pattern->step_count - index) * sizeof *step);
    *step = (struct hp_pattern_step){(uint8_t)kind, (uint8_t)argument, (int16_t)jump};
    pattern->step_count++;
    return true;
}

static bool append_step(struct compiler *compiler, enum step_kind kind, unsigned argument, ptrdiff_t jump)
{
    return insert_step(compiler, step_count(compiler), kind, argument, jump);
}

static bool append_atom(struct compiler *compiler, enum step_kind kind, unsigned argument)
{
    compiler->atom = step_count(compiler);
    return append_step(compiler, kind, argument, 0);
}

static bool append_byte(struct compiler *compiler, unsigned char byte)
{
    return append_atom(compiler, STEP_BYTE, compiler->pattern->ignores_case ? to_lower(byte) : byte);
}

static bool append_assertion(struct compiler *compiler, enum step_kind kind)
{
    compiler->atom = NO_ATOM;
    return append_step(compiler, kind, 0, 0);
}

static bool append_copy(struct compiler *compiler, size_t start, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const struct hp_pattern_step step = compiler->pattern->steps[start + i];
        if (!append_step(compiler, (enum step_kind)step.kind, step.argument, step.jump))
            return false;
    }
    return true;
}

/* Equal sets share one entry: \w may be used forty times. */
static bool append_set(struct compiler *compiler, const uint64_t set[4])
{
    struct hp_pattern *pattern = compiler->pattern;
    unsigned index = 0;
    while (index < pattern->set_count && memcmp(pattern->sets[index], set, sizeof pattern->sets[index]) != 0)
        index++;
    if (index == HP_PATTERN_SETS)
        return fail(compiler, "the expression has too many different sets", compiler->at - 1);
    if (index == pattern->set_count) {
        memcpy(pattern->sets[index], set, sizeof pattern->sets[index]);
        pattern->set_count++;
    }
    return append_atom(compiler, STEP_SET, index);
}

static bool is_at_end(const struct compiler *compiler) { return compiler->at == compiler->end; }

/* The next byte; 0 at the end, which no text contains. */
static unsigned char peek(const struct compiler *compiler)
{
    return is_at_end(compiler) ? 0 : (unsigned char)compiler->text[compiler->at];
}

static bool accept(struct compiler *compiler, char byte)
{
    if (is_at_end(compiler) || compiler->text[compiler->at] != byte)
        return false;
    compiler->at++;
    return true;
}

static unsigned char take(struct compiler *compiler) { return (unsigned char)compiler->text[compiler->at++]; }

/* The byte that \ and `byte` stand for. False: they mean nothing, or more than one byte. */
static bool escaped_byte(unsigned char byte, unsigned char *ret_byte)
{
    switch (byte) {
    case 't':
        *ret_byte = '\t';
        return true;
    case 'n':
        *ret_byte = '\n';
        return true;
    case 'r':
        *ret_byte = '\r';
        return true;
    default:
        *ret_byte = byte;
        return !is_letter(byte) && !is_digit(byte);
    }
}

/* Reads an escape outside of a set, after its backslash. */
static bool read_escape(struct compiler *compiler)
{
    if (is_at_end(compiler))
        return fail(compiler, "'\\' has nothing to escape", compiler->at - 1);
    const unsigned char letter = take(compiler);
    if (letter == 'b' || letter == 'B')
        return append_assertion(compiler, letter == 'b' ? STEP_AT_EDGE : STEP_NOT_AT_EDGE);
    uint64_t set[4] = {0};
    if (set_add_class(set, letter))
        return append_set(compiler, set);
    unsigned char byte;
    if (!escaped_byte(letter, &byte))
        return fail(compiler, "'\\' before a letter or digit that has no special meaning", compiler->at - 2);
    return append_byte(compiler, byte);
}

/* One member of a set: a byte, or a class, which cannot be an end of a range. */
struct member {
    unsigned char byte;
    bool is_class;
};

/* Reads one member; a class is added to the set at once. */
static bool read_member(struct compiler *compiler, uint64_t set[4], struct member *ret_member)
{
    const size_t start = compiler->at;
    ret_member->is_class = false;
    ret_member->byte = take(compiler);
    if (ret_member->byte == '[' && peek(compiler) == ':')
        return fail(compiler, "sets such as [:alpha:] are not supported, use \\d, \\w and \\s", start);
    if (ret_member->byte != '\\')
        return true;
    if (is_at_end(compiler))
        return fail(compiler, "'\\' has nothing to escape", start);
    const unsigned char letter = take(compiler);
    ret_member->is_class = set_add_class(set, letter);
    if (!ret_member->is_class && !escaped_byte(letter, &ret_member->byte))
        return fail(compiler, "'\\' before a letter or digit that has no special meaning", start);
    return true;
}

static bool is_at_range(const struct compiler *compiler)
{
    return compiler->end - compiler->at >= 2 && compiler->text[compiler->at] == '-' &&
           compiler->text[compiler->at + 1] != ']';
}

static bool read_range_or_member(struct compiler *compiler, uint64_t set[4])
{
    const size_t start = compiler->at;
    struct member first;
    if (!read_member(compiler, set, &first))
        return false;
    struct member last = first;
    if (is_at_range(compiler)) {
        compiler->at++;
        if (!read_member(compiler, set, &last))
            return false;
        if (first.is_class || last.is_class)
            return fail(compiler, "a range in [...] needs a single byte on both sides", start);
        if (first.byte > last.byte)
            return fail(compiler, "a range in [...] is reversed", start);
    }
    if (!first.is_class)
        set_add_range(set, first.byte, last.byte);
    return true;
}

/* Reads a set, after its '['. A ']' in first place is a member, as usual. */
static bool read_set(struct compiler *compiler)
{
    const size_t opened_at = compiler->at - 1;
    const bool is_opposite = accept(compiler, '^');
    uint64_t set[4] = {0};
    bool is_first = true;
    while (is_first || !accept(compiler, ']')) {
        if (is_at_end(compiler))
            return fail(compiler, "'[' is never closed", opened_at);
        if (!read_range_or_member(compiler, set))
            return false;
        is_first = false;
    }
    if (compiler->pattern->ignores_case)
        set_fold_case(set);
    for (size_t i = 0; is_opposite && i < 4; i++)
        set[i] = ~set[i];
    return append_set(compiler, set);
}

static void open_branch(struct compiler *compiler, size_t opened_at)
{
    const size_t start = step_count(compiler);
    compiler->groups[compiler->depth] = (struct group){start, start, 0, opened_at};
    compiler->atom = NO_ATOM;
}

/* Reads the start of a group, after its '('. */
static bool open_group(struct compiler *compiler)
{
    const size_t opened_at = compiler->at - 1;
    if (accept(compiler, '?') && !accept(compiler, ':'))
        return fail(compiler, "'(?' must be followed by ':'", opened_at);
    if (compiler->depth == HP_PATTERN_DEPTH)
        return fail(compiler, "groups are nested too deeply", opened_at);
    compiler->depth++;
    open_branch(compiler, opened_at);
    return true;
}

/* Ends one alternative: a SPLIT before it leads to the next one, a JUMP after it to the end of the group. */
static bool end_alternative(struct compiler *compiler)
{
    struct group *group = &compiler->groups[compiler->depth];
    const size_t length = step_count(compiler) - group->branch;
    if (!insert_step(compiler, group->branch, STEP_SPLIT, 0, (ptrdiff_t)length + 2) ||
        !append_step(compiler, STEP_JUMP, 0, (ptrdiff_t)group->last_jump))
        return false;
    group->last_jump = step_count(compiler) - 1;
    group->branch = step_count(compiler);
    compiler->atom = NO_ATOM;
    return true;
}

/* Patches the jumps of the innermost group to lead to its end. */
static void land_jumps(struct compiler *compiler)
{
    struct hp_pattern_step *steps = compiler->pattern->steps;
    size_t index = compiler->groups[compiler->depth].last_jump;
    while (index != 0) {
        const size_t before = (size_t)steps[index].jump;
        steps[index].jump = (int16_t)(step_count(compiler) - index);
        index = before;
    }
}

static bool close_group(struct compiler *compiler)
{
    if (compiler->depth == 0)
        return fail(compiler, "')' without '('", compiler->at - 1);
    land_jumps(compiler);
    compiler->atom = compiler->groups[compiler->depth].start;
    compiler->depth--;
    return true;
}

/* Makes the latest atom match from `least` to `most` times. */
static bool repeat(struct compiler *compiler, uint32_t least, uint32_t most)
{
    const size_t start = compiler->atom;
    const size_t length = step_count(compiler) - start;
    const ptrdiff_t distance = (ptrdiff_t)length;
    if (most == 0) {
        compiler->pattern->step_count = (uint16_t)start;
        return true;
    }
    for (uint32_t i = 1; i < least; i++)
        if (!append_copy(compiler, start, length))
            return false;
    if (most == UNBOUNDED)
        return least > 0 ? append_step(compiler, STEP_SPLIT, 0, -distance)
                         : insert_step(compiler, start, STEP_SPLIT, 0, distance + 2) &&
                               append_step(compiler, STEP_JUMP, 0, -(distance + 1));
    if (least == 0 && !insert_step(compiler, start, STEP_SPLIT, 0, distance + 1))
        return false;
    /* Optional copies: each is the piece with a SPLIT around it. */
    const size_t piece = start + (least == 0);
    for (uint32_t i = least == 0 ? 1 : least; i < most; i++)
        if (!append_step(compiler, STEP_SPLIT, 0, distance + 1) || !append_copy(compiler, piece, length))
            return false;
    return true;
}

/* Reads digits. Returns false when there are none or the number is above MAX_REPEAT. */
static bool read_repeat_count(struct compiler *compiler, uint32_t *ret_count)
{
    uint32_t count = 0;
    const size_t start = compiler->at;
    while (is_digit(peek(compiler)) && count <= MAX_REPEAT)
        count = count * 10 + (uint32_t)(take(compiler) - '0');
    *ret_count = count;
    return compiler->at > start && count <= MAX_REPEAT;
}

/* Reads the bounds, after a '{'. */
static bool read_repeat_bounds(struct compiler *compiler, uint32_t *ret_least, uint32_t *ret_most)
{
    const size_t opened_at = compiler->at - 1;
    bool is_good = read_repeat_count(compiler, ret_least);
    *ret_most = *ret_least;
    if (is_good && accept(compiler, ',')) {
        *ret_most = UNBOUNDED;
        if (peek(compiler) != '}')
            is_good = read_repeat_count(compiler, ret_most);
    }
    if (!is_good || !accept(compiler, '}'))
        return fail(compiler, "'{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte)",
                    opened_at);
    if (*ret_least > *ret_most)
        return fail(compiler, "a repetition {m,n} is reversed", opened_at);
    return true;
}

/* Reads a repetition, after its first byte. */
static bool read_repetition(struct compiler *compiler, unsigned char sign)
{
    uint32_t least = sign == '+';
    uint32_t most = sign == '?' ? 1 : UNBOUNDED;
    if (compiler->atom == NO_ATOM)
        return fail(compiler, "nothing to repeat", compiler->at - 1);
    if (sign == '{' && !read_repeat_bounds(compiler, &least, &most))
        return false;
    accept(compiler, '?'); /* lazy: makes no difference to whether there is a match */
    if (!repeat(compiler, least, most))
        return false;
    compiler->atom = NO_ATOM;
    return true;
}

static bool read_item(struct compiler *compiler)
{
    const unsigned char byte = take(compiler);
    switch (byte) {
    case '.':
        return append_atom(compiler, STEP_ANY, 0);
    case '[':
        return read_set(compiler);
    case '(':
        return open_group(compiler);
    case ')':
        return close_group(compiler);
    case '|':
        return end_alternative(compiler);
    case '^':
        return append_assertion(compiler, STEP_AT_START);
    case '$':
        return append_assertion(compiler, STEP_AT_END);
    case '\\':
        return read_escape(compiler);
    case '*':
    case '+':
    case '?':
    case '{':
        return read_repetition(compiler, byte);
    default:
        return append_byte(compiler, byte);
    }
}

static bool compile_regex(struct compiler *compiler)
{
    open_branch(compiler, 0);
    while (!is_at_end(compiler))
        if (!read_item(compiler))
            return false;
    if (compiler->depth > 0)
        return fail(compiler, "'(' is never closed", compiler->groups[compiler->depth].opened_at);
    land_jumps(compiler);
    return append_step(compiler, STEP_MATCH, 0, 0);
}

/* The position of the closing slash of /.../ or /.../i; 0: plain text. */
static size_t closing_slash(const char *text, size_t length)
{
    if (length < 2 || text[0] != '/')
        return 0;
    if (text[length - 1] == '/')
        return length - 1;
    return length > 2 && text[length - 2] == '/' && text[length - 1] == 'i' ? length - 2 : 0;
}

const char *hp_pattern_compile(struct hp_pattern *pattern, const char *text)
{
    const size_t length = strlen(text);
    memset(pattern, 0, sizeof *pattern);
    if (length >= sizeof pattern->text)
        return "the pattern is longer than 255 bytes";
    const size_t end = closing_slash(text, length);
    if (end == 0) {
        memcpy(pattern->text, text, length);
        return NULL;
    }
    pattern->ignores_case = text[length - 1] == 'i';
    struct compiler compiler = {.pattern = pattern, .text = text, .at = 1, .end = end};
    pattern->is_regex = compile_regex(&compiler);
    return pattern->is_regex ? NULL : pattern->error;
}

_Static_assert(HP_PATTERN_BYTES == 256, "the message above names the limit");

/* ---------------------------------------------------------------------------------------------- matching */

#define STEP_WORDS (HP_PATTERN_STEPS / 64)

/* A set of steps. */
struct steps {
    uint64_t words[STEP_WORDS];
};

/* A position in the subject, between two bytes; 0 stands for "no byte". */
struct place {
    unsigned char before;
    unsigned char after;
    bool is_start;
};

/* Adds a step to a set and to the work list. The set keeps a step from being listed twice. */
static void follow(struct steps *set, uint16_t *list, size_t *count, size_t step)
{
    const uint64_t bit = UINT64_C(1) << step % 64;
    if (set->words[step / 64] & bit)
        return;
    set->words[step / 64] |= bit;
    list[(*count)++] = (uint16_t)step;
}

static bool holds_at(enum step_kind assertion, const struct place *place)
{
    const bool is_edge = is_word(place->before) != is_word(place->after);
    switch (assertion) {
    case STEP_AT_START:
        return place->is_start;
    case STEP_AT_END:
        return place->after == 0;
    case STEP_AT_EDGE:
        return is_edge;
    case STEP_NOT_AT_EDGE:
        return !is_edge;
    default:
        return false;
    }
}

/*
 * Adds the first step and all steps reachable from the set without reading a byte. Returns whether the end of the
 * expression is among them.
 */
static bool close_steps(const struct hp_pattern *pattern, struct steps *set, const struct steps *seeds,
                        const struct place *place)
{
    uint16_t list[HP_PATTERN_STEPS];
    size_t count = 0;
    memset(set, 0, sizeof *set);
    follow(set, list, &count, 0);
    for (size_t i = 0; i < STEP_WORDS; i++)
        for (uint64_t rest = seeds->words[i]; rest; rest &= rest - 1)
            follow(set, list, &count, i * 64 + (size_t)__builtin_ctzll(rest));
    while (count > 0) {
        const size_t index = list[--count];
        const struct hp_pattern_step *step = &pattern->steps[index];
        const size_t target = (size_t)((ptrdiff_t)index + step->jump);
        switch (step->kind) {
        case STEP_MATCH:
            return true;
        case STEP_JUMP:
            follow(set, list, &count, target);
            break;
        case STEP_SPLIT:
            follow(set, list, &count, target);
            follow(set, list, &count, index + 1);
            break;
        default:
            if (holds_at((enum step_kind)step->kind, place))
                follow(set, list, &count, index + 1);
        }
    }
    return false;
}

static bool reads_byte(const struct hp_pattern *pattern, const struct hp_pattern_step *step, unsigned char byte)
{
    switch (step->kind) {
    case STEP_ANY:
        return true;
    case STEP_BYTE:
        return step->argument == (pattern->ignores_case ? to_lower(byte) : byte);
    case STEP_SET:
        return set_has(pattern->sets[step->argument], byte);
    default:
        return false;
    }
}

/* The successors of the steps in `set` that can read the byte. */
static void advance(const struct hp_pattern *pattern, const struct steps *set, unsigned char byte,
                    struct steps *ret_next)
{
    memset(ret_next, 0, sizeof *ret_next);
    for (size_t i = 0; i < STEP_WORDS; i++)
        for (uint64_t rest = set->words[i]; rest; rest &= rest - 1) {
            const size_t index = i * 64 + (size_t)__builtin_ctzll(rest);
            if (reads_byte(pattern, &pattern->steps[index], byte))
                ret_next->words[(index + 1) / 64] |= UINT64_C(1) << (index + 1) % 64;
        }
}

static bool regex_matches(const struct hp_pattern *pattern, const char *subject)
{
    struct steps set;
    struct steps seeds = {{0}};
    struct place place = {0, (unsigned char)subject[0], true};
    for (;;) {
        if (close_steps(pattern, &set, &seeds, &place))
            return true;
        if (place.after == 0)
            return false;
        advance(pattern, &set, place.after, &seeds);
        subject++;
        place = (struct place){place.after, (unsigned char)subject[0], false};
    }
}

bool hp_pattern_matches(const struct hp_pattern *pattern, const char *subject)
{
    return pattern->is_regex ? regex_matches(pattern, subject) : strstr(subject, pattern->text) != NULL;
}
