/* Formats text into a caller's buffer. SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdarg.h>
#include <string.h>

void hp_text_init(struct hp_text *text, char *bytes, size_t capacity)
{
    *text = (struct hp_text){.bytes = bytes, .capacity = capacity};
}

void hp_text_init_stream(struct hp_text *text, char *bytes, size_t capacity, hp_text_flush *flush, void *context)
{
    *text = (struct hp_text){.bytes = bytes, .capacity = capacity, .flush = flush, .context = context};
}

static bool drain(struct hp_text *text)
{
    if (text->flush == NULL || text->is_cut || !text->flush(text->context, text->bytes, text->length))
        text->is_cut = true;
    text->length = text->flush == NULL ? text->length : 0;
    return !text->is_cut;
}

void hp_text_bytes(struct hp_text *text, const char *bytes, size_t length)
{
    while (length > 0) {
        const size_t room = text->capacity - text->length;
        const size_t part = length < room ? length : room;
        if (part > 0)
            memcpy(text->bytes + text->length, bytes, part);
        text->length += part;
        bytes += part;
        length -= part;
        if (length > 0 && !drain(text))
            return;
    }
}

void hp_text_char(struct hp_text *text, char c) { hp_text_bytes(text, &c, 1); }

/*
 * Does not search for the end of a string that does not fit: many rows may share a long one. A loop, since
 * compilers that see the size of the string warn about a larger bound of strnlen.
 */
static size_t length_within(const char *string, size_t most)
{
    size_t length = 0;
    while (length < most && string[length] != '\0')
        length++;
    return length;
}

void hp_text_string(struct hp_text *text, const char *string)
{
    const bool is_endless = text->flush != NULL;
    hp_text_bytes(text, string,
                  is_endless ? strlen(string) : length_within(string, text->capacity - text->length + 1));
}

void hp_text_repeat(struct hp_text *text, char c, size_t count)
{
    char run[64];
    memset(run, c, sizeof run);
    for (; count > sizeof run && !text->is_cut; count -= sizeof run)
        hp_text_bytes(text, run, sizeof run);
    hp_text_bytes(text, run, count < sizeof run ? count : sizeof run);
}

void hp_text_padded(struct hp_text *text, uint64_t number, unsigned width)
{
    char digits[32];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (sizeof digits - at < width && at > 0)
        digits[--at] = '0';
    hp_text_bytes(text, digits + at, sizeof digits - at);
}

void hp_text_u64(struct hp_text *text, uint64_t number) { hp_text_padded(text, number, 1); }

void hp_text_i64(struct hp_text *text, int64_t number)
{
    if (number < 0)
        hp_text_char(text, '-');
    hp_text_u64(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void hp_text_hex(struct hp_text *text, uint32_t number, unsigned width)
{
    for (unsigned digit = width; digit-- > 0;)
        hp_text_char(text, "0123456789abcdef"[number >> (4 * digit) & 15]);
}

void hp_text_address(struct hp_text *text, uint64_t address)
{
    unsigned digits = 1;
    while (digits < 16 && address >> (4 * digits) != 0)
        digits++;
    hp_text_string(text, "0x");
    if (digits > 8)
        hp_text_hex(text, (uint32_t)(address >> 32), digits - 8);
    hp_text_hex(text, (uint32_t)address, digits > 8 ? 8 : digits);
}

void hp_text_fixed(struct hp_text *text, double number, unsigned decimals)
{
    uint64_t scale = 1;
    for (unsigned digit = 0; digit < decimals && digit < 9; digit++)
        scale *= 10;
    const double scaled = number > 0 ? number * (double)scale + 0.5 : 0;
    /* Beyond 2^63 a double has no decimals anyway. */
    if (scaled >= 0x1p63) {
        hp_text_u64(text, number < 0x1p63 ? (uint64_t)number : UINT64_C(1) << 63);
        return;
    }
    const uint64_t units = (uint64_t)scaled;
    hp_text_u64(text, units / scale);
    if (scale > 1) {
        hp_text_char(text, '.');
        hp_text_padded(text, units % scale, decimals < 9 ? decimals : 9);
    }
}

/*
 * Powers of ten up to 10^22 are exact in a double, so each step rounds once: two steps for any duration, 15 at the
 * extremes.
 */
static double scale_by_ten(double value, int exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    for (; exponent > 22; exponent -= 22)
        value *= power[22];
    for (; exponent < -22; exponent += 22)
        value /= power[22];
    return exponent < 0 ? value / power[-exponent] : value * power[exponent];
}

/* The decimal exponent of the first significant digit. */
static int decimal_exponent(double value)
{
    int exponent = 0;
    for (; value >= 1e16; exponent += 16)
        value /= 1e16;
    for (; value >= 10; exponent++)
        value /= 10;
    for (; value < 1e-16; exponent -= 16)
        value *= 1e16;
    for (; value < 1; exponent--)
        value *= 10;
    return exponent;
}

/* `digits` with the decimal point after the first `whole` of them (whole may be 0 or less). */
static void put_plain(struct hp_text *text, const char *digits, int count, int whole)
{
    if (whole <= 0)
        hp_text_char(text, '0');
    for (int at = 0; at < whole; at++)
        hp_text_char(text, at < count ? digits[at] : '0');
    if (count <= whole)
        return;
    hp_text_char(text, '.');
    for (int at = whole; at < 0; at++)
        hp_text_char(text, '0');
    hp_text_bytes(text, digits + (whole > 0 ? whole : 0), (size_t)(count - (whole > 0 ? whole : 0)));
}

static void put_exponent(struct hp_text *text, int exponent)
{
    hp_text_char(text, 'e');
    hp_text_char(text, exponent < 0 ? '-' : '+');
    hp_text_u64(text, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

/*
 * The digits are made as one integer of at most 15 digits, for which a double is exact. This is not the shortest
 * text that reads back to the same double, but the error is below one part in 10^14, less than that of any
 * measurement here.
 */
static void put_number(struct hp_text *text, double value, unsigned digits)
{
    int exponent = decimal_exponent(value);
    uint64_t integer = (uint64_t)(scale_by_ten(value, (int)digits - 1 - exponent) + 0.5);
    uint64_t limit = 1;
    for (unsigned digit = 0; digit < digits; digit++)
        limit *= 10;
    if (integer >= limit) {
        integer /= 10;
        exponent++;
    }
    char decimal[20];
    int count = 0;
    for (uint64_t power = limit / 10; power > 0; power /= 10)
        decimal[count++] = (char)('0' + integer / power % 10);
    while (count > 1 && decimal[count - 1] == '0')
        count--;
    if (exponent >= -7 && exponent < 21) {
        put_plain(text, decimal, count, exponent + 1);
    } else {
        put_plain(text, decimal, count, 1);
        put_exponent(text, exponent);
    }
}

void hp_text_real(struct hp_text *text, double number, unsigned digits)
{
    const double magnitude = number < 0 ? -number : number;
    if (number < 0)
        hp_text_char(text, '-');
    if (!(magnitude - magnitude == 0)) /* infinite, or NaN */
        hp_text_string(text, magnitude == magnitude ? "inf" : "nan");
    else if (magnitude == 0)
        hp_text_char(text, '0');
    else
        put_number(text, magnitude, digits < 1 ? 1 : digits > 15 ? 15 : digits);
}

/* Of any width: "u", "lu", "llu", "zu". Moves `*at` to the u. */
static uint64_t next_unsigned(const char **at, va_list *arguments)
{
    const char *size = *at;
    *at += strspn(size, "lz");
    if (size[0] == 'z')
        return va_arg(*arguments, size_t);
    return *at - size == 2   ? va_arg(*arguments, unsigned long long)
           : *at - size == 1 ? va_arg(*arguments, unsigned long)
                             : va_arg(*arguments, unsigned);
}

/* `at` is behind the percent sign. Returns the last character of the conversion. */
static const char *put_conversion(struct hp_text *text, const char *at, va_list *arguments)
{
    if (*at == 's') {
        hp_text_string(text, va_arg(*arguments, const char *));
    } else if (*at == 'c') {
        hp_text_char(text, (char)va_arg(*arguments, int));
    } else if (*at == '%') {
        hp_text_char(text, '%');
    } else if (*at == '.' && at[1] == '*') {
        const int most = va_arg(*arguments, int);
        const char *string = va_arg(*arguments, const char *);
        hp_text_bytes(text, string, length_within(string, (size_t)most));
        at += 2;
    } else if (*at == '.') {
        hp_text_fixed(text, va_arg(*arguments, double), (unsigned)(at[1] - '0'));
        at += 2;
    } else {
        const unsigned width = *at == '0' ? (unsigned)(at[1] - '0') : 1;
        at += *at == '0' ? 2 : 0;
        hp_text_padded(text, next_unsigned(&at, arguments), width);
    }
    return at;
}

void hp_text_format(struct hp_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (const char *at = format; *at != '\0'; at++) {
        const size_t plain = strcspn(at, "%");
        hp_text_bytes(text, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        at = put_conversion(text, at + 1, &arguments);
    }
    va_end(arguments);
}

bool hp_text_finish(struct hp_text *text) { return text->length == 0 ? !text->is_cut : drain(text); }

#define LONGEST_CHARACTER 4u /* bytes of UTF-8 */

/* Drops the last byte, and the rest of its character if that is incomplete. */
static void drop_last(struct hp_text *text)
{
    for (unsigned bytes = 1; bytes <= LONGEST_CHARACTER && text->length > 0; bytes++)
        if (((unsigned char)text->bytes[--text->length] & 0xc0) != 0x80)
            return;
}

const char *hp_text_end(struct hp_text *text)
{
    if (text->capacity == 0)
        return "";
    if (text->length == text->capacity) {
        drop_last(text);
        text->is_cut = true;
    }
    text->bytes[text->length] = '\0';
    return text->bytes;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool hp_text_equal_nocase(const char *a, size_t a_length, const char *b)
{
    size_t at = 0;
    while (at < a_length && b[at] != '\0' && lower(a[at]) == lower(b[at]))
        at++;
    return at == a_length && b[at] == '\0';
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

const char *hp_text_next_item(const char **rest, size_t *ret_length)
{
    const char *at = *rest;
    while (*at == ',' || is_blank(*at))
        at++;
    const char *end = at;
    while (*end != '\0' && *end != ',')
        end++;
    *rest = end;
    size_t length = (size_t)(end - at);
    while (length > 0 && is_blank(at[length - 1]))
        length--;
    *ret_length = length;
    return length > 0 ? at : NULL;
}

void hp_text_read_newlines(char *path)
{
    static const char written[] = "\\012";
    const size_t length = sizeof written - 1;
    for (char *at = strstr(path, written); at != NULL; at = strstr(at, written)) {
        *at++ = '\n';
        memmove(at, at + length - 1, strlen(at + length - 1) + 1);
    }
}

const char *hp_text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

size_t hp_text_program(const char *command, const char **ret_begin)
{
    size_t end = strcspn(command, " "), begin = end;
    while (begin > 0 && command[begin - 1] != '/')
        begin--;
    begin += command[begin] == '-' && begin < end;
    while (end > begin && command[end - 1] == ':')
        end--;
    *ret_begin = command + begin;
    return end - begin;
}

/* By itself: what the C library does for us counts as the program's where instructions are counted. */
bool hp_text_begins(const char *text, const char *start)
{
    while (*start != '\0' && *text == *start)
        text++, start++;
    return *start == '\0';
}

bool hp_text_has_suffix(const char *text, const char *suffix)
{
    const size_t length = strlen(text), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

uint64_t hp_text_hash(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t at = 0; at < length; at++)
        hash = (hash ^ (unsigned char)bytes[at]) * UINT64_C(1099511628211);
    return hash;
}
