/*
 * Parses numbers. strtoul and friends skip blanks, accept signs and depend on the locale; none of that is wanted
 * here. SPDX-License-Identifier: MIT
 */
#include "number.h"

#include "text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t count_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && is_digit(text[count]))
        count++;
    return count;
}

bool hp_number_unsigned(const char *text, size_t length, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (length == 0 || count_digits(text, length) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (number > most)
        return false;
    *ret_number = number;
    return true;
}

/* The power of two that a unit stands for. False: not a unit. */
static bool unit_shift(const char *unit, size_t length, unsigned *ret_shift)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {
        {"", 0},     {"B", 0},  {"K", 10},  {"KB", 10},  {"KiB", 10}, {"M", 20},  {"MB", 20},
        {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30}, {"T", 40},   {"TB", 40}, {"TiB", 40},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (hp_text_equal_nocase(unit, length, units[i].name)) {
            *ret_shift = units[i].shift;
            return true;
        }
    return false;
}

bool hp_number_bytes(const char *text, size_t length, uint64_t most, uint64_t *ret_bytes)
{
    const size_t digits = count_digits(text, length);
    uint64_t number;
    unsigned shift;
    if (!unit_shift(text + digits, length - digits, &shift) ||
        !hp_number_unsigned(text, digits, most >> shift, &number))
        return false;
    *ret_bytes = number << shift;
    return true;
}

/*
 * With up to 15 digits, both the digits as an integer and the power of ten are exact in a double, so one division
 * gives the nearest double, the same as the compiler's for the literal.
 */
bool hp_number_decimal(const char *text, size_t length, double *ret_number)
{
    const size_t whole = count_digits(text, length);
    const bool has_point = whole < length && text[whole] == '.';
    const size_t fraction = has_point ? count_digits(text + whole + 1, length - whole - 1) : 0;
    if (whole + has_point + fraction != length || whole + fraction == 0 || whole + fraction > 15)
        return false;
    double digits = 0;
    double scale = 1;
    for (size_t i = 0; i < length; i++) {
        if (i == whole)
            continue;
        digits = digits * 10 + (text[i] - '0');
        if (i > whole)
            scale *= 10;
    }
    *ret_number = digits / scale;
    return true;
}

bool hp_number_flag(const char *text, size_t length, bool *ret_flag)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (hp_text_equal_nocase(text, length, words[i])) {
            *ret_flag = i % 2 == 1;
            return true;
        }
    return false;
}
