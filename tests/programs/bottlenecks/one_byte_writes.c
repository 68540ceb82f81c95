/* emit_char writes each character by a system call of its own. The argument is a file. */
#include "bottleneck.h"

#include <fcntl.h>

static APART void emit_char(int file, char letter)
{
    HOTPATH_MEASURE();
    must(write(file, &letter, 1) == 1, "write");
}

static APART void emit_line(int file, int number)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 72; at++)
        emit_char(file, (char)('a' + (number + at) % 26));
    emit_char(file, '\n');
}

int main(int count, char **words)
{
    HOTPATH_MAIN();
    const int file = count > 1 ? open(words[1], O_CREAT | O_TRUNC | O_RDWR, 0600) : -1;
    must(file >= 0, "open");
    for (int at = 0; at < 25000; at++)
        emit_line(file, at);
    close(file);
    unlink(words[1]);
    return 0;
}
