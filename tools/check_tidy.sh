#!/bin/sh
# Checks the library and the program with clang-tidy (.clang-tidy). usage: check_tidy.sh BUILD_DIR
set -eu
cd "$(dirname "$0")/.."
command -v clang-tidy > /dev/null || { echo "clang-tidy is not installed"; exit 77; }
# Each source once: clang-tidy 14 takes va_arg for an error in the second of two commands for one source.
mkdir -p "$1/tidy"
python3 - "$1" << 'END'
import json, sys
commands = json.load(open(sys.argv[1] + "/compile_commands.json"))
once = {command["file"]: command for command in reversed(commands)}
json.dump(list(once.values()), open(sys.argv[1] + "/tidy/compile_commands.json", "w"))
END
find src -name '*.c' -print0 | xargs -0 -P "$(nproc)" -n 1 clang-tidy --quiet -p "$1/tidy"
