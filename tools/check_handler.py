#!/usr/bin/env python3
"""Checks the machine code of the sample handler, and of everything that it calls.

usage: check_handler.py LIBHOTPATH.SO [NAME OF THE HANDLER]

The handler may interrupt the host anywhere: in malloc, in a sanitizer, on a small stack. So it must not leave
the library: no function of the C library, which might take a lock or be intercepted, and none that the dynamic
linker must resolve first. The only exit is the previously installed handler, called through a pointer. And its
stack frames must be small on every path.
"""

import bisect
import re
import subprocess
import sys

HANDLER = "on_sample"
PASSES_ON = "hp_private_signal_pass_on"  # calls the previous handler, through a pointer
MOST_STACK = 1024

FUNCTION = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(\S+)(?:\s+(.*))?$")
TARGET = re.compile(r"^([0-9a-f]+) <([^>]+)>$")
CALLS = re.compile(r"call|bl$|blr$")
JUMPS = re.compile(r"j|b$|br$|b\.|cbn?z|tbn?z")


class Function:
    """Names are not unique: files have static functions of the same name. Addresses are."""

    def __init__(self, name):
        self.name, self.code = name, []


def disassembled(library):
    """{address: Function}"""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", library], check=True,
                          capture_output=True, text=True).stdout
    functions, present = {}, None
    for line in text.splitlines():
        start, instruction = FUNCTION.match(line), INSTRUCTION.match(line)
        if start:
            present = functions.setdefault(int(start.group(1), 16), Function(start.group(2)))
        elif instruction and present is not None:
            present.code.append((instruction.group(1), (instruction.group(2) or "").split("#")[0].strip()))
    return functions


RED_ZONE = 128  # what the innermost function may use below its frame, on x86-64


def stack_of(code):
    """Maximum bytes of a frame: what is pushed and allocated, and the return address."""
    total = 8
    for instruction, operands in code:
        change = re.match(r"\$0x([0-9a-f]+),%rsp", operands)
        if instruction.startswith("push"):
            total += 8
        elif change and instruction.startswith("sub") and len(change.group(1)) < 16:  # else it frees 128 bytes
            total += int(change.group(1), 16)
        elif change and instruction.startswith("add") and len(change.group(1)) == 16:
            total += 2**64 - int(change.group(1), 16)
    return total


class Walk:
    def __init__(self, functions):
        self.functions, self.problems, self.depths = functions, set(), {}
        self.starts = sorted(functions)

    def named(self, name):
        return [start for start in self.starts if self.functions[start].name.split(".")[0] == name]

    def called(self, start):
        """Addresses of the functions that one calls or jumps to, or the names of those outside the library."""
        function = self.functions[start]
        for instruction, operands in function.code:
            if not CALLS.match(instruction) and not JUMPS.match(instruction):
                continue
            target = TARGET.match(operands.split(",")[-1].strip())
            if target is None:
                yield "what cannot be told"
                continue
            at = bisect.bisect_right(self.starts, int(target.group(1), 16)) - 1
            if at < 0 or "@plt" in target.group(2):
                yield target.group(2)
            elif self.starts[at] != start:
                yield self.starts[at]
            elif CALLS.match(instruction):
                yield "itself"

    def depth(self, start, way=()):
        """Bytes of stack that a function and all its callees may take."""
        function = self.functions[start]
        if start in way:
            self.problems.add(f"{function.name} calls itself, by way of others")
            return 0
        if start not in self.depths:
            deepest = 0
            for called in set(self.called(start)):
                if isinstance(called, int):
                    deepest = max(deepest, self.depth(called, (*way, start)))
                elif called != "what cannot be told" or function.name.split(".")[0] != PASSES_ON:
                    self.problems.add(f"{function.name} calls {called}")
            self.depths[start] = stack_of(function.code) + deepest
        return self.depths[start]


def main():
    walk = Walk(disassembled(sys.argv[1]))
    name = sys.argv[2] if len(sys.argv) > 2 else HANDLER
    handlers = walk.named(name)
    if len(handlers) != 1 or len(walk.named(PASSES_ON)) != 1:
        print(f"{sys.argv[1]}: there is no {name}, or no {PASSES_ON}")
        return 1
    stack = walk.depth(handlers[0]) + RED_ZONE
    if stack > MOST_STACK:
        walk.problems.add(f"{stack} bytes of stack, more than {MOST_STACK}")
    print("\n".join(sorted(walk.problems)) or
          f"handler: {len(walk.depths)} functions, {stack} bytes of stack, nothing of others")
    return bool(walk.problems)


if __name__ == "__main__":
    sys.exit(main())
