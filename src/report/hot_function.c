/*
 * The function that owns the CPU time of a program. All questions are sums over stacks, by the frame that each of
 * them answers with. SPDX-License-Identifier: MIT
 */
#include "hot_function.h"

#include <string.h>

#include "bottleneck.h"
#include "function_role.h"
#include "languages.h"
#include "name_marks.h"
#include "utf8.h"

#define NONE HP_NO_FOUND

/* --- Thresholds that no other file needs. */

#define KEPT_PART 0.75    /* of a frame, in a callee that is as good as the frame itself */
#define CALLED_PART 0.5   /* of a frame's time, from one caller or through one entry: that one is named */
#define OWN_CODE_PART 0.6 /* of a function's time, in its own code: that is said */
#define INNER_PART 0.4    /* of a function's time, in one leaf below it: the leaf is named */
#define MOST_PART 0.5     /* "most of it" */
#define KERNEL_PART 0.5   /* of all time, in the kernel: its calls are named ... */
#define CALL_PART 0.005   /* ... with at least this */
#define REST_PART 0.2     /* of all time, not below the hot function: who has it is named ... */
#define BESIDE_PART 0.6   /* ... if one function has this part of it ... */
#define BESIDE_SPREAD 1.3 /* ... and is called below the hot function for little more */
#define LIBRARY_PART 0.2  /* of an interpreter's time, in a library */
#define SHALLOW_DEPTH 0.5 /* mean depth of a function that is where a program begins ... */
#define SHALLOW_OWN 0.3   /* ... if it does little itself */

/* ---------------------------------------------------------------------------------------------------- questions */

static double part(const struct hp_hot_stacks *stacks, uint64_t ns)
{
    return hp_part_of((double)ns, (double)stacks->ns);
}

static double total_part(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    return part(stacks, stacks->total_ns[frame]);
}

static bool is_main(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    return strcmp(hp_hot_found(stacks, frame)->name, "main") == 0;
}

static bool is_code(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    return frame != NONE && hp_hot_role(stacks, frame) == HP_ROLE_CODE && !is_main(stacks, frame);
}

/* A stack with the frame that is asked about: at SIZE_MAX, if the question is about all stacks. */
struct asked {
    const struct hp_hot_stacks *stacks;
    const uint32_t *frames;
    size_t count, at;
};

/* A frame of the stack that gets its weight; NONE: no frame. */
typedef uint32_t pick(const struct asked *asked);

static uint32_t leaf(const struct asked *asked) { return asked->frames[asked->count - 1]; }

/* The callee, or the frame itself if that is a leaf. */
static uint32_t callee(const struct asked *asked)
{
    return asked->frames[asked->at + 1 < asked->count ? asked->at + 1 : asked->at];
}

static uint32_t named_caller(const struct asked *asked)
{
    for (size_t at = asked->at; at-- > 0;)
        if (is_code(asked->stacks, asked->frames[at]))
            return asked->frames[at];
    return NONE;
}

static uint32_t any_caller(const struct asked *asked)
{
    for (size_t at = asked->at; at-- > 0;)
        if (hp_hot_role(asked->stacks, asked->frames[at]) == HP_ROLE_NAMELESS ||
            is_code(asked->stacks, asked->frames[at]))
            return asked->frames[at];
    return NONE;
}

static uint32_t caller_by_library(const struct asked *asked, bool is_same)
{
    const char *library = hp_hot_found(asked->stacks, asked->frames[asked->at])->library;
    for (size_t at = asked->at; at-- > 0;) {
        const uint32_t frame = asked->frames[at];
        if (is_code(asked->stacks, frame) &&
            (strcmp(hp_hot_found(asked->stacks, frame)->library, library) == 0) == is_same)
            return frame;
    }
    return NONE;
}

/* The function of a library through which it was entered, and the one outside that called it. */
static uint32_t entry_of_library(const struct asked *asked) { return caller_by_library(asked, true); }
static uint32_t caller_of_library(const struct asked *asked) { return caller_by_library(asked, false); }

/* Sums the stacks with a frame (NONE: all) by the frame that is picked. */
static void tally(const struct hp_hot_stacks *stacks, uint32_t frame, pick *question)
{
    memset(stacks->tally, 0, (stacks->profile->count + 1) * sizeof *stacks->tally);
    for (size_t number = 0; number < stacks->count; number++) {
        const struct hp_hot_stack *stack = &stacks->all[number];
        struct asked asked = {stacks, stacks->frames + stack->first, stack->count, frame == NONE ? SIZE_MAX : 0};
        while (frame != NONE && asked.at < asked.count && asked.frames[asked.at] != frame)
            asked.at++;
        const uint32_t picked = frame == NONE || asked.at < asked.count ? question(&asked) : NONE;
        if (picked != NONE)
            stacks->tally[picked] += stack->ns;
    }
}

/* Takes the frame with the most time of the last question out of it; NONE: nothing is left. */
static uint32_t take_largest(const struct hp_hot_stacks *stacks, uint64_t *ret_ns)
{
    uint32_t largest = NONE;
    *ret_ns = 0;
    for (uint32_t at = 0; at < stacks->profile->count; at++)
        if (stacks->tally[at] > *ret_ns) {
            largest = at;
            *ret_ns = stacks->tally[at];
        }
    if (largest != NONE)
        stacks->tally[largest] = 0;
    return largest;
}

static uint32_t largest_of(const struct hp_hot_stacks *stacks, uint32_t frame, pick *question, uint64_t *ret_ns)
{
    tally(stacks, frame, question);
    return take_largest(stacks, ret_ns);
}

/* The deepest frame that holds half of the time; NONE: none does. */
static uint32_t hot_frame(const struct hp_hot_stacks *stacks)
{
    uint32_t hot = NONE;
    for (uint32_t at = 0; at < stacks->profile->count; at++) {
        if (stacks->frame_of[at] != at || hp_hot_role(stacks, at) == HP_ROLE_UNSEEN ||
            part(stacks, stacks->seen_ns[at]) < HP_HOT_PART)
            continue;
        if (hot == NONE || stacks->depths[at] > stacks->depths[hot] ||
            (!(stacks->depths[at] < stacks->depths[hot]) && stacks->total_ns[at] > stacks->total_ns[hot]))
            hot = at;
    }
    return hot;
}

/* The deepest frame below one that still holds most of it. */
static uint32_t deepest_of(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    for (unsigned step = 0; step < 100; step++) {
        uint64_t ns;
        uint32_t next;
        tally(stacks, frame, callee);
        stacks->tally[frame] = 0;
        while ((next = take_largest(stacks, &ns)) != NONE && !is_code(stacks, next) &&
               hp_hot_role(stacks, next) != HP_ROLE_NAMELESS)
            ;
        if (next == NONE || (double)ns < KEPT_PART * (double)stacks->total_ns[frame])
            break;
        frame = next;
    }
    return frame;
}

/* -------------------------------------------------------------------------------------------------------- names */

void hp_hot_put_library(struct hp_text *line, const char *library)
{
    const char *end = strstr(library, ".so"), *module = strstr(library, ".cpython-");
    const char *version = end != NULL ? memchr(library, '-', (size_t)(end - library)) : NULL;
    while (version != NULL && (version[1] < '0' || version[1] > '9'))
        version = memchr(version + 1, '-', (size_t)(end - version - 1));
    if (version != NULL)
        end = version;
    if (module != NULL) {
        hp_text_put_marked(line, library, (size_t)(module - library));
        return;
    }
    hp_text_put_marked(line, library,
                       hp_text_begins(library, "lib") && end != NULL ? (size_t)(end - library) : strlen(library));
}

#define LONGEST_NAME 64u

/* Where a name that compilers or linkers have made longer really ends. */
static size_t name_length(const char *shown)
{
    static const char *const added[] = {".part.", ".isra.",  ".constprop.", ".cold", ".lto_priv.",
                                        "@GLIBC", "@@GLIBC", "_evex",       "_avx",  "_sse"};
    size_t length = strlen(shown);
    for (size_t at = 0; at < sizeof added / sizeof *added; at++) {
        const char *found = strstr(shown, added[at]);
        const bool is_of_helper = added[at][0] == '_';
        if (found != NULL && found > shown && (size_t)(found - shown) < length &&
            (!is_of_helper || hp_text_begins(shown, "__")))
            length = (size_t)(found - shown);
    }
    return length;
}

void hp_hot_put_name(struct hp_text *line, const char *shown)
{
    const char *begin = hp_text_begins(shown, "__GI_") ? shown + 5 : shown;
    const size_t length = name_length(begin);
    hp_name_mark_begin(line);
    if (length <= LONGEST_NAME)
        hp_utf8_put_safe(line, begin, length);
    else
        hp_utf8_put_fitted(line, begin, length, LONGEST_NAME);
    hp_name_mark_end(line);
}

/* "the system call write" of "[kernel: write]" */
static void put_kernel(struct hp_text *line, const char *name)
{
    static const char before[] = "[kernel: ";
    const size_t length = strlen(name);
    if (!hp_text_begins(name, before) || length < sizeof before) {
        hp_text_string(line, "the kernel");
        return;
    }
    const char *call = name + sizeof before - 1;
    const bool is_call = strncmp(call, "page fault", 10) != 0 && strncmp(call, "interrupt", 9) != 0;
    hp_text_string(line, is_call ? "the system call " : "");
    hp_text_bytes(line, call, length - sizeof before);
}

static void put_frame(struct hp_text *line, const struct hp_hot_stacks *stacks, uint32_t frame)
{
    const struct hp_found_function *function = hp_hot_found(stacks, frame);
    const enum hp_function_role role = hp_hot_role(stacks, frame);
    if (role == HP_ROLE_KERNEL) {
        put_kernel(line, function->name);
        return;
    }
    if (role == HP_ROLE_NAMELESS) {
        if (hp_is_program_file(function->library))
            hp_text_format(line, "its own code (no symbols)");
        else {
            hp_hot_put_library(line, function->library);
            hp_text_string(line, " (no symbols)");
        }
        return;
    }
    if (role == HP_ROLE_GENERATED || role == HP_ROLE_UNSEEN) {
        hp_text_string(line, role == HP_ROLE_GENERATED ? "code made at run time" : function->name);
        return;
    }
    hp_hot_put_name(line, function->shown);
    if (function->library[0] == '\0' || function->library[0] == '[' || hp_is_program_file(function->library) ||
        (role == HP_ROLE_HELPER && !hp_is_c_library(function->library)))
        return;
    hp_text_string(line, " in ");
    hp_hot_put_library(line, function->library);
}

/* -------------------------------------------------------------------------------------------------- the clauses */

/* What is being said. */
struct saying {
    struct hp_text *line;
    const struct hp_hot_stacks *stacks;
    const char *whole; /* " of the CPU time" */
    struct hp_hot_function *hot;
};

static void put_share(const struct saying *saying, double share)
{
    hp_bottleneck_put_share(saying->line, share < 1 ? share : 1);
}

/* "compress_block takes 92 % of the CPU time" */
static void put_taker(const struct saying *saying, uint32_t frame)
{
    put_frame(saying->line, saying->stacks, frame);
    hp_text_string(saying->line, " takes ");
    put_share(saying, total_part(saying->stacks, frame));
    hp_text_string(saying->line, saying->whole);
    if (saying->hot->function == NULL)
        saying->hot->function = hp_hot_found(saying->stacks, frame);
}

/* " (41 %)" */
static void put_part(const struct saying *saying, uint64_t ns)
{
    hp_text_string(saying->line, " (");
    put_share(saying, part(saying->stacks, ns));
    hp_text_char(saying->line, ')');
}

/* A taker, and where its time is: ", all of it in burn", ", most of it in burn", ", 32 % in burn" */
static void put_inside(const struct saying *saying, uint32_t frame, uint64_t ns, uint32_t inner)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    const double share = hp_part_of((double)ns, (double)stacks->total_ns[frame]);
    const bool is_tabled = (double)ns >= HP_HOT_ALL * (double)stacks->total_ns[inner];
    put_taker(saying, frame);
    hp_text_string(saying->line, ", ");
    if (share >= HP_HOT_ALL)
        hp_text_string(saying->line, "all of it");
    else if (is_tabled)
        put_share(saying, part(stacks, stacks->total_ns[inner]));
    else if (share >= MOST_PART)
        hp_text_string(saying->line, "most of it");
    else
        hp_text_string(saying->line, "part of it");
    hp_text_string(saying->line, " in ");
    put_frame(saying->line, stacks, inner);
}

/* A system call belongs to its nearest caller with a name. */
static void put_kernel_clause(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    uint64_t ns;
    const uint32_t caller = stacks->knows_callers ? largest_of(stacks, hot, named_caller, &ns) : NONE;
    if (caller != NONE && (double)ns >= CALLED_PART * (double)stacks->total_ns[hot]) {
        put_inside(saying, caller, ns, hot);
        return;
    }
    put_taker(saying, hot);
    const uint32_t any = stacks->knows_callers ? largest_of(stacks, hot, any_caller, &ns) : NONE;
    if (any != NONE && (double)ns >= CALLED_PART * (double)stacks->total_ns[hot]) {
        hp_text_string(saying->line, ", called from ");
        put_frame(saying->line, stacks, any);
    }
}

static uint32_t most_of(const struct hp_hot_stacks *stacks, uint32_t frame, pick *question)
{
    uint64_t ns;
    const uint32_t found = stacks->knows_callers ? largest_of(stacks, frame, question, &ns) : NONE;
    return found != NONE && (double)ns >= CALLED_PART * (double)stacks->total_ns[frame] ? found : NONE;
}

const struct hp_found_function *hp_hot_main_caller(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    const uint32_t caller = most_of(stacks, frame, named_caller);
    return caller != NONE ? hp_hot_found(stacks, caller) : NULL;
}

/* "deflate in libz takes 77 % of the CPU time, called by png_write_row in libpng16" */
static void put_nameless_clause(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    const char *library = hp_hot_found(stacks, hot)->library;
    const uint32_t entry = most_of(stacks, hot, entry_of_library);
    const uint32_t caller = most_of(stacks, hot, caller_of_library);
    const bool is_by_entry = entry != NONE && !hp_is_program_file(library);
    saying->hot->nameless = library;
    put_taker(saying, is_by_entry ? entry : hot);
    const uint32_t by = is_by_entry || entry == NONE ? caller : entry;
    if (by != NONE) {
        hp_text_string(saying->line, ", called by ");
        put_frame(saying->line, stacks, by);
    }
}

/* A leaf says less than who calls it. */
static bool put_caller_clause(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    uint64_t ns, other_ns;
    const bool is_helper = hp_hot_role(stacks, hot) != HP_ROLE_CODE;
    const double hot_ns = (double)stacks->total_ns[hot];
    if (!stacks->knows_callers || (!is_helper && (double)stacks->own_ns[hot] < HP_HOT_LEAF * hot_ns))
        return false;
    const uint32_t caller = largest_of(stacks, hot, any_caller, &ns);
    if (caller == NONE)
        return false;
    if ((double)ns >= HP_HOT_ALL * hot_ns && !is_helper) {
        put_taker(saying, hot);
        hp_text_string(saying->line, ", called by ");
        put_frame(saying->line, stacks, caller);
        return true;
    }
    if ((double)ns >= HP_HOT_CALLER * hot_ns) {
        put_inside(saying, caller, ns, hot);
        return true;
    }
    const uint32_t other = take_largest(stacks, &other_ns);
    if (other == NONE)
        return false;
    put_taker(saying, hot);
    hp_text_string(saying->line, ", called by ");
    put_frame(saying->line, stacks, caller);
    put_part(saying, ns);
    hp_text_string(saying->line, " and ");
    put_frame(saying->line, stacks, other);
    put_part(saying, other_ns);
    return true;
}

/* "parse takes 70 % of the CPU time, nearly all in its own code" */
static bool put_own_clause(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    const double own = hp_part_of((double)stacks->own_ns[hot], (double)stacks->total_ns[hot]);
    uint64_t ns;
    tally(stacks, hot, leaf);
    stacks->tally[hot] = 0;
    const uint32_t inner = take_largest(stacks, &ns);
    if (own >= OWN_CODE_PART) {
        put_taker(saying, hot);
        if (!stacks->knows_callers)
            hp_text_string(saying->line, " (its callers are unknown)");
        if (own >= HP_HOT_LEAF) {
            hp_text_string(saying->line, ", nearly all in its own code");
            return true;
        }
        hp_text_string(saying->line, ", ");
        put_share(saying, part(stacks, stacks->own_ns[hot]));
        hp_text_string(saying->line, " in its own code");
        return true;
    }
    if (inner == NONE || (double)ns < INNER_PART * (double)stacks->total_ns[hot])
        return false;
    put_inside(saying, hot, ns, inner);
    if (hp_hot_role(stacks, inner) == HP_ROLE_NAMELESS)
        saying->hot->nameless = hp_hot_found(stacks, inner)->library;
    return true;
}

/* ------------------------------------------------------------------------------------------- time that fans out */

/* Time of the frames of a role itself. */
static uint64_t own_of_role(const struct hp_hot_stacks *stacks, enum hp_function_role role)
{
    uint64_t sum = 0;
    for (uint32_t at = 0; at < stacks->profile->count; at++)
        sum += hp_hot_role(stacks, at) == role ? stacks->own_ns[at] : 0;
    return sum;
}

/* "71 % of the CPU time is in the kernel (sendto 18 %, epoll_ctl 18 %, write 17 %)" */
static bool put_kernel_spread(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    const double share = part(stacks, own_of_role(stacks, HP_ROLE_KERNEL));
    const char *between = " (";
    uint64_t ns;
    if (share < KERNEL_PART)
        return false;
    put_share(saying, share);
    hp_text_format(saying->line, "%s is in the kernel", saying->whole);
    tally(stacks, NONE, leaf);
    for (unsigned named = 0; named < 3;) {
        const uint32_t call = take_largest(stacks, &ns);
        if (call == NONE || part(stacks, ns) < CALL_PART)
            break;
        if (hp_hot_role(stacks, call) != HP_ROLE_KERNEL)
            continue;
        const char *name = hp_hot_found(stacks, call)->name, *detail = strchr(name, ' ');
        hp_text_string(saying->line, between);
        if (detail != NULL)
            hp_text_bytes(saying->line, detail + 1, strlen(detail) - 2);
        else
            hp_text_string(saying->line, "other");
        hp_text_char(saying->line, ' ');
        put_share(saying, part(stacks, ns));
        between = ", ";
        named++;
    }
    hp_text_string(saying->line, between[0] == ',' ? ")" : "");
    if (is_code(stacks, hot)) {
        hp_text_string(saying->line, ", under ");
        put_frame(saying->line, stacks, hot);
        saying->hot->function = hp_hot_found(stacks, hot);
    }
    return true;
}

/* The deepest function that has most of what is not below the hot one; NONE: that is little. */
static uint32_t beside(const struct hp_hot_stacks *stacks, uint32_t hot, uint64_t *ret_ns)
{
    uint64_t rest = 0;
    uint32_t found = NONE;
    memset(stacks->tally, 0, (stacks->profile->count + 1) * sizeof *stacks->tally);
    for (size_t number = 0; number < stacks->count; number++) {
        const struct hp_hot_stack *stack = &stacks->all[number];
        const uint32_t *frames = stacks->frames + stack->first;
        bool is_hot = false;
        for (uint32_t at = 0; at < stack->count; at++)
            is_hot |= frames[at] == hot;
        for (uint32_t at = 0; !is_hot && at < stack->count; at++)
            stacks->tally[frames[at]] += stack->ns;
        rest += is_hot ? 0 : stack->ns;
    }
    for (uint32_t at = 0; part(stacks, rest) >= REST_PART && at < stacks->profile->count; at++)
        if (is_code(stacks, at) && (double)stacks->tally[at] >= BESIDE_PART * (double)rest &&
            (double)stacks->total_ns[at] < BESIDE_SPREAD * (double)stacks->tally[at] &&
            (found == NONE || stacks->depths[at] > stacks->depths[found]))
            found = at;
    *ret_ns = found != NONE ? stacks->total_ns[found] : 0;
    return found;
}

/* A library without names is known by the function through which it was entered. */
static uint32_t with_name(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    const bool is_library =
        hp_hot_role(stacks, frame) == HP_ROLE_NAMELESS && !hp_is_program_file(hp_hot_found(stacks, frame)->library);
    const uint32_t entry = is_library ? most_of(stacks, frame, entry_of_library) : NONE;
    return entry != NONE ? entry : frame;
}

#define MOST_PARTS 2u

/* The parts of the hot function (NONE: of everything) that are worth a name. */
static size_t find_parts(const struct hp_hot_stacks *stacks, uint32_t hot, uint32_t *parts)
{
    uint32_t candidates[6];
    size_t count = 0, found = 0;
    uint64_t ns;
    tally(stacks, hot, callee);
    while (count < sizeof candidates / sizeof *candidates) {
        const uint32_t next = take_largest(stacks, &ns);
        if (next == NONE || part(stacks, ns) < HP_HOT_NAMED)
            break;
        if (next != hot && hp_hot_role(stacks, next) != HP_ROLE_UNSEEN)
            candidates[count++] = next;
    }
    for (size_t at = 0; at < count && found < MOST_PARTS; at++) {
        const enum hp_function_role role = hp_hot_role(stacks, candidates[at]);
        const bool has_callees = role == HP_ROLE_CODE || role == HP_ROLE_NAMELESS;
        const uint32_t deepest =
            has_callees ? with_name(stacks, deepest_of(stacks, candidates[at])) : candidates[at];
        const bool is_program = hp_hot_role(stacks, deepest) == HP_ROLE_NAMELESS &&
                                hp_is_program_file(hp_hot_found(stacks, deepest)->library);
        if (!is_main(stacks, deepest) && !is_program && (found == 0 || parts[0] != deepest))
            parts[found++] = deepest;
    }
    return found;
}

static bool is_one_of(const uint32_t *frames, size_t count, uint32_t frame)
{
    for (size_t at = 0; at < count; at++)
        if (frames[at] == frame)
            return true;
    return false;
}

/* Whether it is code without names of a library that is told as one of the parts. */
static bool is_in_parts(const struct hp_hot_stacks *stacks, const uint32_t *parts, size_t count, uint32_t frame)
{
    for (size_t at = 0; at < count && hp_hot_role(stacks, frame) == HP_ROLE_NAMELESS; at++)
        if (strcmp(hp_hot_found(stacks, parts[at])->library, hp_hot_found(stacks, frame)->library) == 0)
            return true;
    return false;
}

/* "; no single function is hot (the hottest, _int_malloc, has 2 %)" */
static void put_largest(const struct saying *saying, const uint32_t *parts, size_t count, bool has_beside)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    uint64_t ns;
    uint32_t largest = largest_of(stacks, NONE, leaf, &ns);
    while (largest != NONE && hp_hot_role(stacks, largest) == HP_ROLE_UNSEEN)
        largest = take_largest(stacks, &ns);
    if (largest != NONE && is_in_parts(stacks, parts, count, largest)) {
        largest = take_largest(stacks, &ns);
        if (largest != NONE && hp_hot_role(stacks, largest) != HP_ROLE_NAMELESS)
            return;
    }
    if (largest == NONE || is_one_of(parts, count, largest) || is_in_parts(stacks, parts, count, largest))
        return;
    const bool is_flat = part(stacks, ns) < HP_HOT_FLAT;
    if (!is_flat && has_beside)
        return;
    if (!is_flat && hp_hot_role(stacks, largest) == HP_ROLE_NAMELESS) {
        hp_text_string(saying->line, "; ");
        put_share(saying, part(stacks, ns));
        hp_text_string(saying->line, " is in code of ");
        hp_hot_put_library(saying->line, hp_hot_found(stacks, largest)->library);
        hp_text_string(saying->line, " without symbols");
        return;
    }
    hp_text_string(saying->line,
                   is_flat ? "; no single function is hot (the hottest, " : "; the hottest function is ");
    put_frame(saying->line, stacks, largest);
    hp_text_string(saying->line, is_flat ? ", has " : " (");
    put_share(saying, part(stacks, ns));
    hp_text_char(saying->line, ')');
}

/* "execute_one_pass takes 57 % of the CPU time: A (32 %) and B (17 %) have the largest parts; beside it, ..." */
static bool put_parts(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    uint32_t parts[MOST_PARTS];
    const size_t count = find_parts(stacks, hot, parts);
    const bool has_lead = hot != NONE && (is_code(stacks, hot) || hp_hot_role(stacks, hot) == HP_ROLE_HELPER);
    uint64_t beside_ns;
    if (count == 0 && !is_code(stacks, hot))
        return false;
    if (count == 1 && !has_lead && total_part(stacks, parts[0]) < 2 * HP_HOT_NAMED)
        return false;
    if (has_lead)
        put_taker(saying, hot);
    hp_text_string(saying->line, has_lead && count > 0 ? ": " : "");
    for (size_t at = 0; at < count; at++) {
        hp_text_string(saying->line, at > 0 ? " and " : "");
        put_frame(saying->line, stacks, parts[at]);
        put_part(saying, stacks->total_ns[parts[at]]);
        if (saying->hot->function == NULL)
            saying->hot->function = hp_hot_found(stacks, parts[at]);
    }
    hp_text_string(saying->line, count > 1 ? " have the largest parts" : count > 0 ? " has the largest part" : "");
    const uint32_t other = is_code(stacks, hot) ? beside(stacks, hot, &beside_ns) : NONE;
    if (other != NONE) {
        hp_text_string(saying->line, count > 0 ? "; beside it, " : ", ");
        put_frame(saying->line, stacks, other);
        hp_text_string(saying->line, " has ");
        put_share(saying, part(stacks, beside_ns));
    }
    put_largest(saying, parts, count, other != NONE);
    return true;
}

/* The name of a leaf's library, for sums; "": none. */
static const char *home_of(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    return hp_hot_role(stacks, frame) == HP_ROLE_KERNEL ? "the kernel" : hp_hot_found(stacks, frame)->library;
}

/* The leaf's frame stands for its library: the first frame with the same one. Few libraries, many functions. */
static size_t sum_libraries(const struct hp_hot_stacks *stacks, const char **names, uint64_t *sums, size_t most)
{
    size_t count = 0;
    for (uint32_t at = 0; at < stacks->profile->count; at++) {
        size_t place = 0;
        const char *home = home_of(stacks, at);
        if (stacks->own_ns[at] == 0 || hp_hot_role(stacks, at) == HP_ROLE_UNSEEN || home[0] == '\0')
            continue;
        while (place < count && strcmp(names[place], home) != 0)
            place++;
        if (place == most)
            continue;
        if (place == count) {
            names[count] = home;
            sums[count++] = 0;
        }
        sums[place] += stacks->own_ns[at];
    }
    return count;
}

#define MOST_LIBRARIES 40u

/* "no single function is hot: CPU time is spread over libLLVM (54 %), the kernel (16 %)" */
static void put_libraries(const struct saying *saying)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    const char *names[MOST_LIBRARIES], *between = "no single function is hot: CPU time is spread over ";
    uint64_t sums[MOST_LIBRARIES];
    const size_t count = sum_libraries(stacks, names, sums, MOST_LIBRARIES);
    for (unsigned said = 0; said < 3; said++) {
        size_t largest = 0;
        for (size_t at = 1; at < count; at++)
            largest = sums[at] > sums[largest] ? at : largest;
        if (count == 0 || part(stacks, sums[largest]) < HP_HOT_FLAT)
            break;
        hp_text_string(saying->line, between);
        hp_hot_put_library(saying->line, names[largest]);
        hp_text_string(saying->line,
                       hp_is_program_file(names[largest]) && names[largest][0] != 't' ? " itself" : "");
        put_part(saying, sums[largest]);
        sums[largest] = 0;
        between = ", ";
    }
    if (between[0] != ',')
        hp_text_string(saying->line, "no single function is hot");
    uint64_t ns;
    uint32_t hottest = largest_of(stacks, NONE, leaf, &ns);
    while (hottest != NONE && hp_hot_role(stacks, hottest) == HP_ROLE_UNSEEN)
        hottest = take_largest(stacks, &ns);
    if (hottest == NONE)
        return;
    hp_text_string(saying->line, "; the hottest function is ");
    put_frame(saying->line, stacks, hottest);
    put_part(saying, ns);
}

static void put_spread(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    uint64_t most_ns = (uint64_t)(HP_HOT_NAMELESS * (double)stacks->ns);
    for (uint32_t at = 0; at < stacks->profile->count; at++)
        if (hp_hot_role(stacks, at) == HP_ROLE_NAMELESS && stacks->own_ns[at] > most_ns) {
            most_ns = stacks->own_ns[at];
            saying->hot->nameless = hp_hot_found(stacks, at)->library;
        }
    if (put_kernel_spread(saying, hot) || put_parts(saying, hot))
        return;
    put_libraries(saying);
}

/* ------------------------------------------------------------------------------------------------- interpreters */

/* Whether a frame is only the interpreter at work. */
static bool is_of_interpreter(const struct hp_hot_stacks *stacks, const struct hp_language *interpreter,
                              uint32_t frame)
{
    if (frame == NONE || is_main(stacks, frame))
        return true;
    const enum hp_function_role role = hp_hot_role(stacks, frame);
    const char *library = hp_hot_found(stacks, frame)->library;
    if (role == HP_ROLE_GENERATED || role == HP_ROLE_HELPER || role == HP_ROLE_KERNEL)
        return true;
    return strcmp(library, stacks->program) == 0 || hp_text_begins(library, interpreter->program) ||
           (interpreter->library[0] != '\0' && hp_text_begins(library, interpreter->library));
}

/*
 * The library with the most time of itself, among those of the interpreter or among others that it calls, with at
 * least a fifth of the time. NULL: none.
 */
static const char *largest_library(const struct hp_hot_stacks *stacks, const struct hp_language *interpreter,
                                   bool is_of_others, double *ret_part)
{
    uint64_t best = 0, sums[MOST_LIBRARIES];
    const char *library = NULL, *names[MOST_LIBRARIES];
    const size_t count = sum_libraries(stacks, names, sums, MOST_LIBRARIES);
    for (size_t at = 0; at < count; at++) {
        const bool is_own = strcmp(names[at], stacks->program) == 0 ||
                            hp_text_begins(names[at], interpreter->program) ||
                            (interpreter->library[0] != '\0' && hp_text_begins(names[at], interpreter->library));
        const bool is_system =
            names[at][0] == '[' || strcmp(names[at], "the kernel") == 0 || hp_is_system_path(names[at]);
        if (!is_system && is_own != is_of_others && sums[at] > best) {
            best = sums[at];
            library = names[at];
        }
    }
    *ret_part = part(stacks, best);
    return *ret_part >= LIBRARY_PART ? library : NULL;
}

/* Time of the interpreter's compiler. */
static double compiler_part(const struct hp_hot_stacks *stacks, const struct hp_language *interpreter)
{
    uint64_t most = 0;
    for (uint32_t at = 0; interpreter->compiler != NULL && at < stacks->profile->count; at++)
        if (hp_text_begins(hp_hot_found(stacks, at)->name, interpreter->compiler) && stacks->total_ns[at] > most)
            most = stacks->total_ns[at];
    return part(stacks, most);
}

/*
 * "54 % of the CPU time is the JIT compiler of java, 21 % is Java code compiled at run time, without names". False:
 * neither.
 */
static bool put_compiled(const struct saying *saying, const struct hp_language *interpreter)
{
    const double generated = part(saying->stacks, own_of_role(saying->stacks, HP_ROLE_GENERATED));
    const double compiler = compiler_part(saying->stacks, interpreter);
    if (compiler >= HP_HOT_NAMED) {
        put_share(saying, compiler);
        hp_text_format(saying->line, "%s is the JIT compiler of ", saying->whole);
        hp_text_put_marked(saying->line, saying->stacks->shown, strlen(saying->stacks->shown));
    }
    if (generated >= HP_HOT_NAMED) {
        hp_text_string(saying->line, compiler >= HP_HOT_NAMED ? ", " : "");
        put_share(saying, generated);
        hp_text_format(saying->line, "%s is %s compiled at run time, without names",
                       compiler >= HP_HOT_NAMED ? "" : saying->whole, interpreter->code);
    }
    return compiler >= HP_HOT_NAMED || generated >= HP_HOT_NAMED;
}

/* "python3 interprets Python code (hottest function: X, 19 %)" */
static void put_interpreted(const struct saying *saying, const struct hp_language *interpreter)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    uint64_t ns;
    uint32_t largest = largest_of(stacks, NONE, leaf, &ns);
    while (largest != NONE && !is_code(stacks, largest) && hp_hot_role(stacks, largest) != HP_ROLE_HELPER)
        largest = take_largest(stacks, &ns);
    hp_text_put_marked(saying->line, stacks->shown, strlen(stacks->shown));
    hp_text_format(saying->line, " interprets %s", interpreter->code);
    if (largest == NONE || part(stacks, ns) < HP_HOT_FLAT)
        return;
    hp_text_string(saying->line, " (hottest function: ");
    put_frame(saying->line, stacks, largest);
    hp_text_string(saying->line, ", ");
    put_share(saying, part(stacks, ns));
    hp_text_char(saying->line, ')');
    saying->hot->function = hp_hot_found(stacks, largest);
}

/* Its own functions say little; what else the time is spent in says more. */
static bool put_interpreter(const struct saying *saying, uint32_t hot)
{
    const struct hp_hot_stacks *stacks = saying->stacks;
    const struct hp_language *interpreter = hp_language_of_program(stacks->program);
    double share;
    if (interpreter == NULL || !is_of_interpreter(stacks, interpreter, hot))
        return false;
    const bool is_compiled = put_compiled(saying, interpreter);
    if (!is_compiled)
        put_interpreted(saying, interpreter);
    const char *native = largest_library(stacks, interpreter, true, &share);
    if (native == NULL && is_compiled && compiler_part(stacks, interpreter) < HP_HOT_NAMED)
        native = largest_library(stacks, interpreter, false, &share);
    if (native != NULL) {
        hp_text_string(saying->line, "; ");
        put_share(saying, share);
        hp_text_format(saying->line, "%s is in ", saying->whole);
        hp_hot_put_library(saying->line, native);
    } else if (part(stacks, own_of_role(stacks, HP_ROLE_KERNEL)) >= KERNEL_PART) {
        hp_text_string(saying->line, "; ");
        put_kernel_spread(saying, NONE);
    }
    return true;
}

static bool is_shallow(const struct hp_hot_stacks *stacks, uint32_t hot)
{
    const double own = hp_part_of((double)stacks->own_ns[hot], (double)stacks->total_ns[hot]);
    return stacks->depths[hot] < SHALLOW_DEPTH && own < SHALLOW_OWN && hp_hot_role(stacks, hot) != HP_ROLE_HELPER;
}

void hp_hot_function_put(struct hp_text *line, const struct hp_hot_stacks *stacks, const char *whole,
                         struct hp_hot_function *ret_hot)
{
    const struct saying saying = {line, stacks, whole, ret_hot};
    const uint32_t hot = hot_frame(stacks);
    *ret_hot = (struct hp_hot_function){0};
    if (put_interpreter(&saying, hot))
        return;
    const enum hp_function_role role = hot != NONE ? hp_hot_role(stacks, hot) : HP_ROLE_UNSEEN;
    const bool is_spread = hot == NONE || is_main(stacks, hot);
    if (!is_spread && role == HP_ROLE_KERNEL)
        put_kernel_clause(&saying, hot);
    else if (!is_spread && role == HP_ROLE_NAMELESS)
        put_nameless_clause(&saying, hot);
    else if (is_spread ||
             (!put_caller_clause(&saying, hot) && (is_shallow(stacks, hot) || !put_own_clause(&saying, hot))))
        put_spread(&saying, hot);
}
