/* Command lines, and what is hidden in them. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command_line.h"

/* Of arguments that "|" divides. Memory of the exact size: a sanitizer sees a byte too much. */
static void check(const char *arguments, const char *line)
{
    const size_t length = strlen(arguments) + 1;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memcpy(text, arguments, length);
    for (size_t at = 0; at + 1 < length; at++)
        text[at] = text[at] == '|' ? '\0' : text[at];
    const size_t written = hp_command_line(text, length);
    assert_string_equal(text, line);
    assert_int_equal(written, strlen(line));
    free(text);
}

static void blanks_between_arguments(void **state)
{
    (void)state;
    check("", "");
    check("ls", "ls");
    check("ls|-l|/tmp", "ls -l /tmp");
    check("echo||x", "echo  x");
    check("nginx: worker process   ", "nginx: worker process");
    char cut[5] = {'l', 's', '\0', '-', 'l'}; /* one that was longer: no zero at its end */
    assert_int_equal(hp_command_line(cut, 4), 4);
    assert_string_equal(cut, "ls -");
}

static void values_of_options(void **state)
{
    (void)state;
    check("db|--password=hunter2|-v", "db --password=*** -v");
    check("db|--PassWord=hunter2", "db --PassWord=***");
    check("db|--db-passwd=x|--pass=ab", "db --db-passwd=* --pass=**");
    check("db|--api-key=123456|--api_key=123456|-apikey=123456", "db --api-key=*** --api_key=*** -apikey=***");
    check("db|--password=", "db --password=");
    check("db|--token|abcdef|more", "db --token *** more");
    check("db|--password=hunter2|--token|abcdef|more", "db --password=*** --token *** more");
    check("db|--token|--verbose|more", "db --token --verbose more");
    check("db|--token", "db --token");
    check("env|PGPASSWORD=hunter2|AWS_SECRET_ACCESS_KEY=hunter2|psql",
          "env PGPASSWORD=*** AWS_SECRET_ACCESS_KEY=*** psql");
    check("openssl|-passin|pass:hunter2", "openssl -passin pass:***");
}

static void scripts(void **state)
{
    (void)state;
    check("sh|-c|mysql --password=hunter2 -v; PGPASSWORD=hunter2 psql",
          "sh -c mysql --password=*** -v; PGPASSWORD=*** psql");
    check("sh|-c|a --token  hunter2 x", "sh -c a --token  *** x");
    check("sh|-c|PASSWORD=hunter2 a b", "sh -c PASSWORD=***");
    check("sh|-c|wget http://me:hunter2@host/ -q", "sh -c wget http://me:***@host/ -q");
    check("db|--password=two words|x", "db --password=*** x");
}

static void others_stay(void **state)
{
    (void)state;
    check("db|--password-file=/etc/db|--max-tokens=100|--tokenizer=x",
          "db --password-file=/etc/db --max-tokens=100 --tokenizer=x");
    check("grep|password|file", "grep password file");
    check("cc|-DTOKENS=1|bypass=1", "cc -DTOKENS=1 bypass=1");
}

static void headers_and_urls(void **state)
{
    (void)state;
    check("curl|-H|Authorization: Bearer abcdef|x", "curl -H Authorization: *** x");
    check("curl|-H|X-Auth-Token:abcdef", "curl -H X-Auth-Token:***");
    check("git|clone|https://me:hunter2@example.org:80/a@b:c", "git clone https://me:***@example.org:80/a@b:c");
    check("psql|postgres://me:p@ss:w@host/db", "psql postgres://me:***@host/db");
    check("curl|http://host:80/x@y", "curl http://host:80/x@y");
    check("curl|http://me@host:80/", "curl http://me@host:80/");
    check("x|http://:@h", "x http://:@h");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_between_arguments),
        cmocka_unit_test(values_of_options),
        cmocka_unit_test(scripts),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(headers_and_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
