/*
 * Labels of every width: ASCII, accents, East Asian wide characters, emoji, combining marks, and control
 * characters.
 */
#include "support.h"

int main(void)
{
    HOTPATH_MAIN();
    {
        HOTPATH_BLOCK("plain");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK("größe");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK("計算する");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK("한국어");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK("rocket \xf0\x9f\x9a\x80");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK("e\xcc\x81"
                      "combined");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK("bad \xff\xfe utf8");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK("esc \x1b[31m tab\t newline\n end");
        spin_us(300);
    }
    {
        HOTPATH_BLOCK(
            "a label that is much longer than any terminal in this test is wide, so that it has to be cut off");
        spin_us(300);
    }
    return 0;
}
