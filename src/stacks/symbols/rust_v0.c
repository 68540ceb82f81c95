/*
 * Rust's v0 mangling (RFC 2603): a path in prefix notation, in which a letter says what follows. Parts can refer
 * back, so that a short name can stand for a very long one: steps and depth are limited, since names are untrusted.
 * SPDX-License-Identifier: MIT
 */
#include "rust_v0.h"

#include <stdint.h>
#include <string.h>

#include "text.h"

#define MOST_STEPS 5000u
#define MOST_DEPTH 100u
#define MOST_LIFETIMES 64u

struct reading {
    const char *start, *at, *end; /* without _R; the base of back references */
    struct hp_text *text;
    uint64_t lifetimes; /* lifetimes bound here */
    unsigned steps, depth;
    unsigned muted; /* output is suppressed */
    bool is_open;   /* of a trait: its argument list has begun, and may go on */
    bool is_broken;
};

struct word {
    const char *bytes;
    size_t length;
    bool is_punycode;
};

static void read_path(struct reading *reading, bool is_value);
static void read_type(struct reading *reading);
static void read_const(struct reading *reading);

/* ----------------------------------------------------------------------------------------------------- letters */

static void give_up(struct reading *reading)
{
    reading->is_broken = true;
    reading->at = reading->end;
}

static char peek(const struct reading *reading) { return reading->at < reading->end ? *reading->at : '\0'; }

static char next(struct reading *reading)
{
    if (reading->at < reading->end)
        return *reading->at++;
    give_up(reading);
    return '\0';
}

static bool eat(struct reading *reading, char letter)
{
    const bool is_there = reading->at < reading->end && *reading->at == letter;
    reading->at += is_there;
    return is_there;
}

static void put(struct reading *reading, const char *text)
{
    if (reading->muted == 0 && !reading->is_broken)
        hp_text_string(reading->text, text);
}

static void put_letter(struct reading *reading, char letter) { put(reading, (const char[]){letter, '\0'}); }

static void put_number(struct reading *reading, uint64_t number)
{
    if (reading->muted == 0 && !reading->is_broken)
        hp_text_u64(reading->text, number);
}

/* True: one level deeper is allowed. Then leave it again. */
static bool enter(struct reading *reading)
{
    if (reading->is_broken || reading->text->is_cut || ++reading->steps > MOST_STEPS ||
        reading->depth >= MOST_DEPTH) {
        give_up(reading);
        return false;
    }
    reading->depth++;
    return true;
}

static void leave(struct reading *reading) { reading->depth--; }

/* ----------------------------------------------------------------------------------------------- numbers, words */

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1. */
static uint64_t read_base_62(struct reading *reading)
{
    uint64_t number = 0;
    if (eat(reading, '_'))
        return 0;
    while (!eat(reading, '_')) {
        const int digit = digit_of(next(reading));
        if (digit < 0 || number > (UINT64_MAX - 62) / 62) { /* hashes take all 64 bits */
            give_up(reading);
            return 0;
        }
        number = number * 62 + (uint64_t)digit;
    }
    return number + 1;
}

/* Distinguishes things of the same name; 0: nothing. */
static uint64_t read_disambiguator(struct reading *reading)
{
    return eat(reading, 's') ? read_base_62(reading) + 1 : 0;
}

static struct word read_word(struct reading *reading)
{
    struct word word = {.is_punycode = eat(reading, 'u')};
    const char first = next(reading);
    if (first < '0' || first > '9') {
        give_up(reading);
        return word;
    }
    size_t length = (size_t)(first - '0');
    while (first != '0' && peek(reading) >= '0' && peek(reading) <= '9' && length <= SIZE_MAX / 100)
        length = length * 10 + (size_t)(next(reading) - '0');
    eat(reading, '_');
    if (length > (size_t)(reading->end - reading->at)) {
        give_up(reading);
        return word;
    }
    word.bytes = reading->at;
    word.length = length;
    reading->at += length;
    return word;
}

/* Non-ASCII identifiers are shown in their encoded form. */
static void put_word(struct reading *reading, const struct word *word)
{
    put(reading, word->is_punycode ? "punycode{" : "");
    for (size_t at = 0; at < word->length; at++)
        put_letter(reading, word->bytes[at]);
    put(reading, word->is_punycode ? "}" : "");
}

/* --------------------------------------------------------------------------------------------------- references */

/* Reads an earlier part again. It must begin before the reference itself, so this ends. */
static void read_again(struct reading *reading, void (*read)(struct reading *reading))
{
    const char *from = reading->at - 1;
    const uint64_t offset = read_base_62(reading);
    if (reading->is_broken || offset >= (uint64_t)(from - reading->start)) {
        give_up(reading);
        return;
    }
    if (reading->muted > 0)
        return;
    const char *behind = reading->at;
    reading->at = reading->start + offset;
    read(reading);
    if (!reading->is_broken)
        reading->at = behind;
}

static void read_value_path(struct reading *reading) { read_path(reading, true); }

static void read_type_path(struct reading *reading) { read_path(reading, false); }

/* ---------------------------------------------------------------------------------------------------- lifetimes */

/* 1 is the innermost bound one; 0: it has no name. */
static void put_lifetime(struct reading *reading, uint64_t number)
{
    put(reading, "'");
    if (number == 0) {
        put(reading, "_");
        return;
    }
    if (number > reading->lifetimes) {
        give_up(reading);
        return;
    }
    const uint64_t from_outside = reading->lifetimes - number;
    if (from_outside < 26) {
        put_letter(reading, (char)('a' + from_outside));
        return;
    }
    put(reading, "_");
    put_number(reading, from_outside);
}

/* "for<'a> ". Returns how many, to be unbound later. */
static uint64_t read_binder(struct reading *reading)
{
    const uint64_t count = eat(reading, 'G') ? read_base_62(reading) + 1 : 0;
    if (count > MOST_LIFETIMES) {
        give_up(reading);
        return 0;
    }
    for (uint64_t at = 0; at < count; at++) {
        put(reading, at == 0 ? "for<" : ", ");
        reading->lifetimes++;
        put_lifetime(reading, 1);
    }
    put(reading, count > 0 ? "> " : "");
    return count;
}

/* -------------------------------------------------------------------------------------------------------- paths */

static void read_argument(struct reading *reading)
{
    if (eat(reading, 'L'))
        put_lifetime(reading, read_base_62(reading));
    else if (eat(reading, 'K'))
        read_const(reading);
    else
        read_type(reading);
}

static size_t read_list(struct reading *reading, void (*read)(struct reading *reading), const char *between)
{
    size_t count = 0;
    for (; !reading->is_broken && !eat(reading, 'E') && enter(reading); count++) {
        put(reading, count > 0 ? between : "");
        read(reading);
        leave(reading);
    }
    return count;
}

/* The place of an implementation is not shown. */
static void skip_place(struct reading *reading)
{
    read_disambiguator(reading);
    reading->muted++;
    read_path(reading, false);
    reading->muted--;
}

/* Closures and the like have lowercase namespace letters, and numbers. */
static void read_inside(struct reading *reading, bool is_value)
{
    const char space = next(reading);
    read_path(reading, is_value);
    const uint64_t number = read_disambiguator(reading);
    const struct word word = read_word(reading);
    if (space >= 'a' && space <= 'z') {
        put(reading, word.length > 0 ? "::" : "");
        put_word(reading, &word);
        return;
    }
    if (space < 'A' || space > 'Z') {
        give_up(reading);
        return;
    }
    put(reading, "::{");
    if (space == 'C' || space == 'S')
        put(reading, space == 'C' ? "closure" : "shim");
    else
        put_letter(reading, space);
    put(reading, word.length > 0 ? ":" : "");
    put_word(reading, &word);
    put(reading, "#");
    put_number(reading, number);
    put(reading, "}");
}

static void read_path_of(struct reading *reading, char kind, bool is_value)
{
    if (kind == 'C') {
        read_disambiguator(reading);
        const struct word word = read_word(reading);
        put_word(reading, &word);
    } else if (kind == 'N') {
        read_inside(reading, is_value);
    } else if (kind == 'M' || kind == 'X' || kind == 'Y') {
        if (kind != 'Y')
            skip_place(reading);
        put(reading, "<");
        read_type(reading);
        if (kind != 'M') {
            put(reading, " as ");
            read_path(reading, false);
        }
        put(reading, ">");
    } else if (kind == 'I') {
        read_path(reading, is_value);
        put(reading, is_value ? "::<" : "<");
        read_list(reading, read_argument, ", ");
        put(reading, ">");
    } else if (kind == 'B') {
        read_again(reading, is_value ? read_value_path : read_type_path);
    } else {
        give_up(reading);
    }
}

static void read_path(struct reading *reading, bool is_value)
{
    if (!enter(reading))
        return;
    read_path_of(reading, next(reading), is_value);
    leave(reading);
}

/* -------------------------------------------------------------------------------------------------------- types */

/* NULL: not a basic type. */
static const char *basic_type(char letter)
{
    static const char *const names[26] = {
        "i8",   "bool", "char", "f64", "str", "f32", NULL,  "u8", "isize", "usize", NULL,  "i32", "u32",
        "i128", "u128", "_",    NULL,  NULL,  "i16", "u16", "()", "...",   NULL,    "i64", "u64", "!",
    };
    return letter >= 'a' && letter <= 'z' ? names[letter - 'a'] : NULL;
}

/* extern "C"; an underscore stands for a hyphen. */
static void read_convention(struct reading *reading)
{
    put(reading, "extern \"");
    if (eat(reading, 'C')) {
        put(reading, "C");
    } else {
        const struct word word = read_word(reading);
        for (size_t at = 0; at < word.length; at++)
            put_letter(reading, word.bytes[at] == '_' ? '-' : word.bytes[at]);
    }
    put(reading, "\" ");
}

static void read_function_type(struct reading *reading)
{
    const uint64_t bound = read_binder(reading);
    if (eat(reading, 'U'))
        put(reading, "unsafe ");
    if (eat(reading, 'K'))
        read_convention(reading);
    put(reading, "fn(");
    read_list(reading, read_type, ", ");
    put(reading, ")");
    if (!eat(reading, 'u')) {
        put(reading, " -> ");
        read_type(reading);
    }
    reading->lifetimes -= bound;
}

/* A trait whose argument list may go on: `Iterator<Item = u8>`. */
static void read_open_path(struct reading *reading)
{
    reading->is_open = false;
    if (!enter(reading))
        return;
    if (eat(reading, 'B')) {
        read_again(reading, read_open_path);
    } else if (eat(reading, 'I')) {
        read_path(reading, false);
        put(reading, "<");
        read_list(reading, read_argument, ", ");
        reading->is_open = true;
    } else {
        read_path(reading, false);
        reading->is_open = false;
    }
    leave(reading);
}

static void read_trait(struct reading *reading)
{
    read_open_path(reading);
    bool is_open = reading->is_open;
    while (eat(reading, 'p')) {
        put(reading, is_open ? ", " : "<");
        is_open = true;
        const struct word word = read_word(reading);
        put_word(reading, &word);
        put(reading, " = ");
        read_type(reading);
    }
    put(reading, is_open ? ">" : "");
}

static void read_any_trait(struct reading *reading)
{
    put(reading, "dyn ");
    const uint64_t bound = read_binder(reading);
    read_list(reading, read_trait, " + ");
    reading->lifetimes -= bound;
    if (!eat(reading, 'L')) {
        give_up(reading);
        return;
    }
    const uint64_t lifetime = read_base_62(reading);
    if (lifetime > 0) {
        put(reading, " + ");
        put_lifetime(reading, lifetime);
    }
}

static void read_reference(struct reading *reading, bool is_mutable)
{
    put(reading, "&");
    const uint64_t lifetime = eat(reading, 'L') ? read_base_62(reading) : 0;
    if (lifetime > 0) {
        put_lifetime(reading, lifetime);
        put(reading, " ");
    }
    put(reading, is_mutable ? "mut " : "");
    read_type(reading);
}

static void read_array(struct reading *reading, bool has_length)
{
    put(reading, "[");
    read_type(reading);
    if (has_length) {
        put(reading, "; ");
        read_const(reading);
    }
    put(reading, "]");
}

static void read_tuple(struct reading *reading)
{
    put(reading, "(");
    const size_t count = read_list(reading, read_type, ", ");
    put(reading, count == 1 ? ",)" : ")");
}

static void read_type_of(struct reading *reading, char kind)
{
    if (kind == 'R' || kind == 'Q') {
        read_reference(reading, kind == 'Q');
    } else if (kind == 'P' || kind == 'O') {
        put(reading, kind == 'P' ? "*const " : "*mut ");
        read_type(reading);
    } else if (kind == 'A' || kind == 'S') {
        read_array(reading, kind == 'A');
    } else if (kind == 'T') {
        read_tuple(reading);
    } else if (kind == 'F') {
        read_function_type(reading);
    } else if (kind == 'D') {
        read_any_trait(reading);
    } else if (kind == 'B') {
        read_again(reading, read_type);
    } else {
        reading->at -= !reading->is_broken;
        read_path(reading, false);
    }
}

static void read_type(struct reading *reading)
{
    if (!enter(reading))
        return;
    const char kind = next(reading);
    const char *basic = basic_type(kind);
    if (basic != NULL)
        put(reading, basic);
    else
        read_type_of(reading, kind);
    leave(reading);
}

/* ------------------------------------------------------------------------------------------------------- values */

static int hex_of(char letter)
{
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') ? digit_of(letter) : -1;
}

struct hex {
    const char *digits;
    size_t length;
    uint64_t value; /* if there are at most 16 digits */
};

/* Up to "_"; without leading zeros, so no digits mean 0. */
static struct hex read_hex(struct reading *reading)
{
    struct hex hex = {.digits = reading->at};
    while (!eat(reading, '_')) {
        const int digit = hex_of(next(reading));
        if (digit < 0) {
            give_up(reading);
            return hex;
        }
        hex.value = hex.value << 4 | (uint64_t)digit;
        hex.length++;
    }
    return hex;
}

static void put_integer(struct reading *reading, const struct hex *hex)
{
    if (hex->length <= 16) {
        put_number(reading, hex->value);
        return;
    }
    put(reading, "0x");
    for (size_t at = 0; at < hex->length; at++)
        put_letter(reading, hex->digits[at]);
}

static void put_character(struct reading *reading, const struct hex *hex)
{
    put(reading, "'");
    if (hex->length <= 2 && hex->value >= ' ' && hex->value <= '~' && hex->value != '\'' && hex->value != '\\') {
        put_letter(reading, (char)hex->value);
    } else {
        put(reading, "\\u{");
        for (size_t at = 0; at < hex->length; at++)
            put_letter(reading, hex->digits[at]);
        put(reading, "}");
    }
    put(reading, "'");
}

static void read_const_of(struct reading *reading, char type)
{
    if (type == 'p') {
        put(reading, "_");
        return;
    }
    if (type == '\0' || strchr("aslxnihtmyojbc", type) == NULL) { /* strings and structures are not supported */
        give_up(reading);
        return;
    }
    put(reading, eat(reading, 'n') ? "-" : "");
    const struct hex hex = read_hex(reading);
    if (type == 'b')
        put(reading, hex.value != 0 ? "true" : "false");
    else if (type == 'c')
        put_character(reading, &hex);
    else
        put_integer(reading, &hex);
}

static void read_const(struct reading *reading)
{
    if (!enter(reading))
        return;
    if (eat(reading, 'B'))
        read_again(reading, read_const);
    else
        read_const_of(reading, next(reading));
    leave(reading);
}

/* --------------------------------------------------------------------------------------------------------- name */

/* The instantiating crate may follow, and suffixes of the linker or LLVM. */
static bool is_at_end(struct reading *reading)
{
    if (peek(reading) >= 'A' && peek(reading) <= 'Z') {
        reading->muted++;
        read_path(reading, false);
    }
    return !reading->is_broken && (reading->at == reading->end || *reading->at == '.' || *reading->at == '$');
}

bool hp_rust_v0_name(const char *linked, char *name, size_t size)
{
    struct hp_text text;
    if (strncmp(linked, "_R", 2) != 0 || linked[2] < 'A' || linked[2] > 'Z' || size == 0)
        return false;
    hp_text_init(&text, name, size);
    struct reading reading = {.start = linked + 2, .at = linked + 2, .end = linked + strlen(linked), .text = &text};
    read_path(&reading, true);
    const bool is_read = is_at_end(&reading);
    hp_text_end(&text);
    return is_read && !text.is_cut;
}
