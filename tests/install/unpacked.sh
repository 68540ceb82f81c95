#!/bin/sh
# Uses an unpacked archive of a release as its README.md says. tools/check_fresh.sh runs it on a fresh machine, in
# the home of a user.
#
# usage: unpacked.sh FOLDER programs    what needs no compiler
#        unpacked.sh FOLDER compiler    what needs gcc, g++, make, cmake and pkg-config
set -eu
here=$1
PATH=$here/bin:$PATH
fail() { echo "unpacked.sh: $*"; exit 1; }

# has FILE TEXT...: a file has lines with all of these (regular expressions).
has()
{
    file=$1
    shift
    for text; do grep -q -e "$text" "$file" || { cat "$file"; fail "no $text in $file"; }; done
}

# The commands of the README.md in its first or second block of shell.
commands() { awk -v wanted="$1" '/^```sh/ { n++; next } /^```/ { next_is_text = 1 } n == wanted && !/^```/ { print }
    /^```$/ && n == wanted { exit }' "$here/README.md"; }

programs()
{
    if command -v cc > /dev/null; then fail "there is a compiler"; fi
    hotpath --version > out
    has out '^hotpath [0-9]'
    hotpath doctor > out
    has out '^ok .*names.*libstdc' "fix: link programs with -Wl,-rpath,$here/lib"
    if grep '^BAD' out; then fail "hotpath doctor"; fi

    # The README's first example, and the report again.
    example=$(commands 1 | grep '^hotpath run perl' | sed 's/  *#.*//')
    eval "$example" > out 2>&1
    has out '^\[hotpath\] ' '^| Perl_runops_standard '
    hotpath report --section functions > out 2>&1
    has out '^| Perl_runops_standard '
    if grep -q 'cannot be loaded\|no names' out; then fail "hotpath report"; fi

    # One transaction per row: it waits for the disk.
    { echo 'create table visits(page text);'
      for n in 1 2 3 4 5 6 7 8 9 10; do echo "insert into visits values('$n');"; done; } > visits.sql
    rm -f app.db
    hotpath run --io --locks --path --section io,waits sqlite3 app.db < visits.sql > out 2>&1
    has out '^io - ' 'app.db'
    [ "$(sqlite3 app.db 'select count(*) from visits')" = 10 ] || fail "sqlite3 did not do its work"

    # What needs libraries of others: zlib, libmicrohttpd, ncurses.
    hotpath export -f pprof -o out.pb.gz > /dev/null
    [ "$(od -An -tx1 -N2 out.pb.gz)" = " 1f 8b" ] || fail "pprof files are not compressed"
    hotpath demo --once --seconds 1 > out 2>&1
    has out '| main ' '^\[hotpath\] '
    hotpath run --section functions "$here/lib/hotpath/orders" 1 > out 2>&1
    has out '^| [a-z_]* *| orders '
    if grep '^| orders+0x' out; then fail "functions of the demo have no names"; fi
    hotpath serve --port 0 > out 2>&1 &
    server=$!
    until grep -q http://127.0.0.1 out; do
        kill -0 $server || { cat out; fail "hotpath serve has ended"; }
        sleep 0.1
    done
    # shellcheck disable=SC2016 # perl's variables
    perl -MIO::Socket::INET -e '($host, $path) = $ARGV[0] =~ m|http://([^/]+)(.*)|;
        $s = IO::Socket::INET->new($host) or die $!;
        print $s "GET $path HTTP/1.0\r\nHost: $host\r\n\r\n"; print <$s>' \
        "$(grep -o 'http://[^ ]*' out | head -n 1)" > page
    kill $server
    has page '^HTTP/1.[01] 200' '<html'
}

compiler()
{
    cp "$here/share/doc/hotpath/hello.c" .
    (cd "$here" && commands 2) | grep -v '^here=\|^cmake' |
        sed 's/  *#.*//; s/-O2\(.*hotpath\.c\)/-O0\1/' > lines
    [ "$(grep -c '^cc ' lines)" = 3 ] || fail "the README has other commands"
    while read -r line; do
        eval "$line"
        case $line in cc*) ./hello > out 2> report; has out '^3.1416$'; has report '^| leibniz .* 100 ' ;; esac
    done < lines
    # shellcheck disable=SC2046 # a list of options
    cc -O2 -g -DHOTPATH hello.c $(pkg-config --cflags --libs hotpath) -Wl,-rpath,"$here/lib" -o hello
    hotpath run ./hello > out 2> report
    has report '^| leibniz .* 100 '
    hotpath annotate leibniz > out
    has out 'sum += '
    # shellcheck disable=SC2046
    cc -O2 -DHOTPATH hello.c $(pkg-config --static --cflags --libs hotpath) -static -o hello
    ./hello 2> report > /dev/null
    has report '^| leibniz .* 100 '
    sed 's/HOTPATH_MAIN(.*);/HOTPATH_MAIN();/' hello.c > hello.cc
    cat > CMakeLists.txt << 'EOF'
cmake_minimum_required(VERSION 3.16)
project(hello C CXX)
find_package(hotpath REQUIRED)
foreach(kind hotpath static)
  add_executable(c_${kind} hello.c)
  add_executable(cxx_${kind} hello.cc)
  foreach(program c_${kind} cxx_${kind})
    target_link_libraries(${program} PRIVATE hotpath::${kind})
    target_compile_definitions(${program} PRIVATE HOTPATH)
  endforeach()
endforeach()
EOF
    rm -rf out
    (cd "$here" && commands 2) | grep '^cmake' | sed 's/  *#.*//' > lines
    eval "$(cat lines)" > log 2>&1 || { cat log; fail "cmake"; }
    cmake --build out > log 2>&1 || { cat log; fail "cmake --build"; }
    for program in c_hotpath c_static cxx_hotpath cxx_static; do
        "out/$program" > text 2> report || { cat report; fail "$program"; }
        has text '^3.1416$'
        has report '^| leibniz .* 100 '
    done
}

$2
