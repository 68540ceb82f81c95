#!/usr/bin/env python3
"""Writes the whole library as two files, hotpath.c and hotpath.h, that compile along with any program.

usage: amalgamate.py [--root ROOT] [--depfile FILE] FOLDER

They go into FOLDER; nothing else is written. The sources are those of ROOT, by default the tree that this tool is
in. --depfile writes the names of all files that were read, as a rule of make, so that a build knows when to run
this again.

hotpath.h is include/hotpath.h with its parts (include/hotpath/...) in the places where it includes them. hotpath.c
is every source of the library, in the order of src/CMakeLists.txt, each header in front of the first source that
needs it. In one unit names have to be unique and should not clash with those of the host, so:

  - what is private to a file (static functions and variables, types, enumerators, macros) gets the name of its file
    in front: `fail` of json.c becomes `hp_json_fail`;
  - functions that files share (hp_text_add) become static, by their prototypes; variables that they share
    (hp_runtime) get the library's name (hotpath_runtime_) and are hidden;
  - functions get a section of their own;
  - includes of our own go, those of the system move to the top, once each.

A list that is included with a macro for its lines (sections.def) is written out. What overrides the malloc family
stands behind the library, and is left out unless a macro asks for it.
"""

import argparse
import functools
import re
import sys
from pathlib import Path

LIBRARY_PARTS = ("hotpath_common", "hotpath_record")  # targets of src/CMakeLists.txt
ASKED_PARTS = {"hotpath_alloc": "HOTPATH_ALLOC", "hotpath_alloc_wrap": "HOTPATH_ALLOC_WRAP"}  # only with this macro

SECTION_LIST = "src/report/sections.def"

TAGGED = ("struct", "union", "enum")

TOKEN = re.compile(r"""
    (?P<comment>   /\*.*?\*/ | //[^\n]* )
  | (?P<text>      "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
  | (?P<directive> ^[ \t]*\#[ \t]*\w+ )
  | (?P<word>      [A-Za-z_]\w* )
  | (?P<number>    \.?\d(?:[eEpP][+-]|[\w.])* )
  | (?P<space>     (?:\\\n | [ \t])+ )
  | (?P<line>      \n )
  | (?P<mark>      \.\.\. | -> | \#\# | . )
""", re.X | re.S | re.M)

TOP = """\
/*
 * hotpath {version}, the whole library in one file. Put it into your program together with hotpath.h:
 *
 *     cc -DHOTPATH main.c hotpath.c -pthread
 *
 * It needs no options of its own; -DHOTPATH switches on what is measured in your sources. With -DHOTPATH_ALLOC it
 * contains malloc and its kin, and counts what the program allocates. (A static executable needs
 * -DHOTPATH_ALLOC_WRAP and the linker's --wrap instead, see hotpath(3).) Generated from the sources of hotpath by
 * tools/amalgamate.py: change those, not this.
 *
{licence}
 *
 * SPDX-License-Identifier: MIT
 */
#ifdef __cplusplus
#error "hotpath.c is C: give it to the C compiler (cc -c hotpath.c) and link the object; hotpath.h is for C++ too"
#else
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#undef HOTPATH /* the library itself is never compiled out */
#define HOTPATH 1
#define HOTPATH_IN_ONE_FILE 1

{includes}

#include "hotpath.h"

/* Only what hotpath.h declares is seen from outside; functions that the library does not need are left out. */
#define HP_PRIVATE static __attribute__((unused))
#define HP_SHARED extern __attribute__((visibility("hidden")))
/* A section of its own, so that a clock of instructions can leave this code out. */
#define HP_CODE __attribute__((section("hotpath_text")))

/* In one unit gcc looks through more calls than it understands: where a bound was checked, it no longer knows. */
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpragmas" /* old versions do not know all of these */
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
"""

# Functions in front of malloc are called before the runtime of a sanitizer is ready for what the compiler puts into
# them.
KEEP_OUT = """
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || defined __SANITIZE_HWADDRESS__
#define HP_HAS_SANITIZER
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) || \\
    __has_feature(hwaddress_sanitizer)
#define HP_HAS_SANITIZER
#endif
#endif
#if defined HOTPATH_ALLOC && defined HP_HAS_SANITIZER
#undef HOTPATH_ALLOC
__attribute__((constructor(102))) static void hp_alloc_keep_out(void)
{
    hotpath_v1_alloc_is_not_watched(HOTPATH_ALLOC_SANITIZED_, 0);
}
#endif
"""

BOTTOM = """
#pragma GCC diagnostic pop
#endif /* C, not C++ */
"""


class Problem(Exception):
    pass


# --------------------------------------------------------------------------------------------------- reading C

class Token:
    def __init__(self, kind, text):
        self.kind = kind
        self.text = text
        self.in_directive = False

    def __repr__(self):
        return f"{self.kind}:{self.text!r}"


def tokens_of(source):
    tokens = [Token(match.lastgroup, match.group()) for match in TOKEN.finditer(source)]
    in_directive = False
    for token in tokens:
        in_directive = token.kind == "directive" or (in_directive and token.kind != "line")
        token.in_directive = in_directive
    return tokens


def meaningful(tokens):
    return [token for token in tokens if token.kind not in ("comment", "space", "line")]


def code_of(tokens):
    """What the compiler proper sees: no directives, no comments."""
    return [token for token in meaningful(tokens) if not token.in_directive]


def closing(code, at):
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for index in range(at, len(code)):
        if code[index].text in ("(", "[", "{"):
            depth += 1
        elif code[index].text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return index
    raise Problem(f"nothing closes the bracket in {' '.join(token.text for token in code[at:at + 8])}")


def declarations(code):
    """Splits a unit at file level: one list of tokens per declaration or function."""
    start = at = 0
    while at < len(code):
        text = code[at].text
        if text == "{":
            is_function = code[at - 1].text == ")"
            at = closing(code, at)
            if is_function:
                yield code[start:at + 1]
                start = at + 1
        elif text in ("(", "["):
            at = closing(code, at)
        elif text == ";":
            yield code[start:at + 1]
            start = at + 1
        at += 1


def end_of_initialiser(declaration, at):
    while declaration[at].text not in (",", ";"):
        at = closing(declaration, at) + 1 if declaration[at].text in ("(", "[", "{") else at + 1
    return at


def head_of(declaration):
    """A declaration without attributes, initialisers and bodies; brackets become one token."""
    head, at = [], 0
    while at < len(declaration):
        token = declaration[at]
        if token.text in ("__attribute__", "__asm__"):
            at = closing(declaration, at + 1)
        elif token.text in ("(", "[", "{"):
            end = closing(declaration, at)
            head.append((token.text, declaration[at + 1:end]))
            at = end
        elif token.text == "=":
            at = end_of_initialiser(declaration, at) - 1
        else:
            head.append((token.kind, token.text))
        at += 1
    return head


def declared_names(head):
    """The names that a declaration declares, from what head_of made of it."""
    names, name = [], None
    for index, (kind, value) in enumerate(head):
        if kind == "word" and not value.isupper() and (index == 0 or head[index - 1][1] not in TAGGED):
            name = value  # words in capitals are macros for attributes
        elif kind == "(" and value and value[0].text == "*":  # a pointer to a function: (*name)(...)
            name = next(token.text for token in value if token.kind == "word" and token.text != "const")
        elif value in (",", ";"):
            names.append(name)
    if head and head[-1][0] == "{":
        names.append(name)
    return [name for name in names if name is not None]


def is_function(head):
    return len(head) > 2 and head[-1][0] == "{" and head[-2][0] == "("


def is_prototype(head):
    return len(head) > 2 and head[-1][1] == ";" and head[-2][0] == "("


class Unit:
    """One source or header: its tokens and the names it has at file level."""

    def __init__(self, path, root):
        self.title = str(path.relative_to(root))
        self.is_header = path.suffix == ".h"
        self.stem = path.stem
        self.text = without_licence(with_lists(path))
        self.tokens = tokens_of(self.text)
        self.ordinary = set()   # functions, variables, types by typedef, enumerators, macros
        self.tags = set()       # of struct, union, enum
        self.shared = set()     # variables with external linkage
        self.marked = []        # (token, what it becomes): prototypes and `extern` of shared variables
        self.functions = []     # the first token of each
        self.read_code(code_of(self.tokens))
        self.read_macros()

    def read_code(self, code):
        self.read_tags(code)
        for declaration in declarations(code):
            head = head_of(declaration)
            words = {value for kind, value in head if kind == "word"}
            names = declared_names(head)
            if is_function(head):
                self.functions.append(declaration[0])
            if "typedef" in words or "static" in words:
                self.ordinary.update(names)
            elif names and all(name.startswith("hp_") for name in names):
                if is_prototype(head):
                    self.marked.append((declaration[0], "HP_PRIVATE " + declaration[0].text))
                elif declaration[0].text == "extern":
                    self.shared.update(names)
                    self.marked.append((declaration[0], "HP_SHARED"))

    def read_tags(self, code):
        """Tags and enumerators, wherever they stand: in C they all belong to the file or are at least unique to
        it."""
        for at, token in enumerate(code):
            if token.text not in TAGGED:
                continue
            body = at + 1
            if code[body].kind == "word":
                body += 1
            if code[body].text != "{":
                continue
            if body == at + 2:
                self.tags.add(code[at + 1].text)
            if token.text == "enum":
                self.ordinary.update(code[index].text for index in range(body + 1, closing(code, body))
                                     if code[index].kind == "word" and code[index - 1].text in ("{", ","))

    def read_macros(self):
        """Macros of this file. Those that it only defines where the system does not are the system's."""
        asked = set(re.findall(r"^[ \t]*#[ \t]*(?:ifn?def|undef)[ \t]+(\w+)", self.text, re.M))
        self.macros = {}  # {name: (parameters, tokens of the body, those of them that name members)}
        for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?((?:\\\n|[^\n])*)", self.text, re.M):
            name, parameters, body = match.groups()
            names = re.findall(r"\w+", parameters or "")
            tokens = meaningful(tokens_of(body))
            self.macros[name] = names, tokens, member_places(tokens)
            if name not in asked and not name.startswith("_"):
                self.ordinary.add(name)


PART = re.compile(r'^#include "(hotpath/\w+\.h)"\n', re.M)


def parts_of_header(root):
    """Headers that are parts of include/hotpath.h."""
    text = (root / "include/hotpath.h").read_text(encoding="utf-8")
    return [root / "include" / name for name in PART.findall(text)]


def joined_header(root):
    """include/hotpath.h with the text of its parts where it includes them."""
    def part(match):
        text = (root / "include" / match.group(1)).read_text(encoding="utf-8")
        return boundary(match.group(1)) + without_licence(text)

    return PART.sub(part, (root / "include/hotpath.h").read_text(encoding="utf-8"))


LIST = re.compile(r'^#define (\w+)\(([\w, ]+)\) (.*)\n#include "(\w+\.def)"\n#undef \1\n', re.M)


def with_lists(path):
    """The text of a file in which each list that it includes is written out: what the macro above makes of every
    line."""
    def lines(match):
        macro, parameters, body, name = match.groups()
        parameters = parameters.split(", ")
        for values in re.findall(rf"^{macro}\((.*?)\)", (path.parent / name).read_text(encoding="utf-8"), re.M):
            values = dict(zip(parameters, values.split(", ")))
            yield re.sub(r"\w+", lambda word: values.get(word.group(), word.group()), body) + "\n"

    return LIST.sub(lambda match: "".join(lines(match)), path.read_text(encoding="utf-8"))


def without_licence(text):
    text = re.sub(r"\n \*\n \* SPDX-License-Identifier: MIT\n", "\n", text)
    return re.sub(r"(?:\n \*)? SPDX-License-Identifier: MIT(?= \*/|\n)", "", text)


# ------------------------------------------------------------------------------------------------ members and names

def member_places(code):
    """Tokens that name members of structs: after a dot or an arrow, and where a struct declares them."""
    places = set()
    for at, token in enumerate(code):
        if token.kind == "word" and at > 0 and code[at - 1].text in (".", "->"):
            places.add(token)
        if token.text in ("struct", "union"):
            body = at + 1
            if body < len(code) and code[body].kind == "word":
                body += 1
            if body < len(code) and code[body].text == "{":
                places.update(members(code[body + 1:closing(code, body)]))
    return places


def members(body):
    """The words of a struct's body that are names of members: the last ones before ; , : [ or the ) of (*name)."""
    at = 0
    while at < len(body):
        token = body[at]
        following = body[at + 1].text if at + 1 < len(body) else ""
        if token.text == "(" and following == "*":
            yield next(word for word in body[at:] if word.kind == "word" and word.text != "const")
            at = closing(body, at)
        elif token.text in ("(", "[") or (token.text == "{" and "enum" in (body[at - 1].text, body[at - 2].text)):
            at = closing(body, at)
        elif token.kind == "word" and following in (";", ",", ":", "["):
            yield token
        at += 1


def arguments(code, at):
    """The arguments of the call whose opening parenthesis is at `at`, as lists of tokens."""
    end = closing(code, at)
    found, start, index = [], at + 1, at + 1
    while index < end:
        if code[index].text in ("(", "[", "{"):
            index = closing(code, index)
        elif code[index].text == ",":
            found.append(code[start:index])
            start = index + 1
        index += 1
    return found + [code[start:end]]


def member_parameters(macros):
    """{macro: which of its arguments name members}, as that of offsetof does."""
    found = {"offsetof": {1}}
    for name, (parameters, body, places) in macros.items():
        if not parameters:
            continue
        members_of_it = places | member_arguments(body, found)
        at = {parameters.index(token.text) for token in members_of_it if token.text in parameters}
        if at:
            found[name] = at
    return found


def member_arguments(code, takes_members):
    places = set()
    for at, token in enumerate(code[:-1]):
        if token.text in takes_members and code[at + 1].text == "(":
            for index, argument in enumerate(arguments(code, at + 1)):
                if index in takes_members[token.text]:
                    places.update(argument)
    return places


class Names:
    """Names in the single file."""

    def __init__(self, units):
        self.taken = {token.text for unit in units for token in unit.tokens if token.kind == "word"}
        self.shared = {}
        for unit in units:
            for name in sorted(unit.shared):
                self.shared.setdefault(name, self.free("hotpath_" + name[len("hp_"):] + "_"))

    def free(self, name):
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def private(self, unit, name):
        if name.lower().startswith(("hp_", "hotpath_")):
            return name
        long = f"hp_{unit.stem}_{name}"
        return self.free(long.upper() if name.isupper() else long)

    def of(self, unit):
        """Two maps from old to new: ordinary names, and tags."""
        ordinary = dict(self.shared)
        ordinary.update((name, self.private(unit, name)) for name in sorted(unit.ordinary))
        return ordinary, {name: self.private(unit, name) for name in sorted(unit.tags)}


def rename(unit, names, macros):
    ordinary, tags = names.of(unit)
    code = meaningful(unit.tokens)
    keep = member_places(code) | member_arguments(code, member_parameters(macros))
    directive, parameters = "", []
    for at, token in enumerate(code):
        if token.kind == "directive":
            directive = token.text.split("#")[1].strip()
            parameters = unit.macros[code[at + 1].text][0] if directive == "define" else []
        elif not token.in_directive:
            directive, parameters = "", []
        if token.kind == "text" and token.text[1:-1] in names.shared:  # assembly names it
            token.text = f'"{names.shared[token.text[1:-1]]}"'
        if token.kind != "word" or token in keep or token.text in parameters or directive in ("include", "pragma"):
            continue
        is_tag = at > 0 and code[at - 1].text in TAGGED
        token.text = (tags if is_tag else ordinary).get(token.text, token.text)


# ------------------------------------------------------------------------------------------------------ writing

class Sources:
    """The sources as src/CMakeLists.txt lists them."""

    def __init__(self, root):
        text = (root / "src/CMakeLists.txt").read_text(encoding="utf-8")
        lists = {name: re.findall(r"\S+\.c\b", body)
                 for name, body in re.findall(r"^set\((\w+)\n(.*?)\)", text, re.M | re.S)}
        registered = root / SECTION_LIST
        if registered.exists():
            names = re.findall(r"^HP_SECTION\(\w+, (\w+\.c)\)", registered.read_text(encoding="utf-8"), re.M)
            lists["report"] = [f"report/{name}" for name in dict.fromkeys(names)] + lists["report"]

        def of(part, may_be_missing=False):
            line = re.search(rf"^hotpath_objects\({part} (.*)\)", text, re.M)
            if not line and may_be_missing:
                return []
            if not line:
                raise Problem(f"src/CMakeLists.txt: no hotpath_objects({part} ...)")
            return [root / "src" / name for set_name in re.findall(r"\$\{(\w+)\}", line.group(1))
                    for name in lists[set_name]]

        self.library = [path for part in LIBRARY_PARTS for path in of(part)]
        self.macros = {}  # {path: macros, any of which asks for it}
        for part, macro in ASKED_PARTS.items():
            for path in of(part, may_be_missing=True):
                self.macros.setdefault(path, []).append(macro)


OWN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*\n', re.M)


@functools.lru_cache(maxsize=None)
def homes_of_headers(root):
    return {header.name: header for header in (root / "src").rglob("*.h")}


@functools.lru_cache(maxsize=None)
def needs(path, root):
    homes = homes_of_headers(root)
    return [homes[name] for name in OWN_INCLUDE.findall(with_lists(path)) if name != "hotpath.h"]


def in_order(sources, root, done):
    """Sources, each after the headers that it is the first to need; adds to `done`."""
    order = []

    def visit(path):
        if path in done:
            return
        done.add(path)
        for header in needs(path, root):
            visit(header)
        order.append(path)

    for source in sources:
        visit(source)
    return order


def note_macros(sources, root):
    """What asks for a source asks for the headers that it needs."""
    def visit(path, macros):
        for header in needs(path, root):
            found = sources.macros.setdefault(header, [])
            found += [macro for macro in macros if macro not in found]
            visit(header, macros)

    for path, macros in list(sources.macros.items()):
        visit(path, macros)


def body_of(unit):
    """The text of a unit without what stands at the top of the single file, and the includes that move there."""
    for token, text in unit.marked:
        token.text = text
    for token in unit.functions:
        token.text = "HP_CODE " + token.text
    text = "".join(token.text for token in unit.tokens)
    text = OWN_INCLUDE.sub("", text)
    text = re.sub(r"^#define _GNU_SOURCE.*\n", "", text, flags=re.M)
    if unit.is_header:
        text = re.sub(r"^#ifndef (HP_\w+_H)\n#define \1\n(.*)^#endif.*\n", r"\2", text, flags=re.M | re.S)
    lines, includes, depth = [], [], 0
    for line in text.splitlines():
        directive = re.match(r"\s*#\s*(\w+)", line)
        kind = directive.group(1) if directive else ""
        depth += kind.startswith("if") - (kind == "endif")
        if kind == "include" and depth == 0:
            includes.append(line)
        else:
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n"), includes


# ------------------------------------------------------------------------------------------------------- output

def boundary(title):
    title = f"/* ---- {title} "
    return f"\n{title}{'-' * (113 - len(title))} */\n\n"


def asked_by(macros):
    return "#if " + " || ".join(f"defined {macro}" for macro in macros) + "\n"


def amalgamate(root):
    """{name: content} of the files."""
    header = joined_header(root)
    sources, done = Sources(root), set()
    paths = in_order(sources.library, root, done)
    asked = in_order(list(sources.macros), root, done)
    note_macros(sources, root)
    units = {path: Unit(path, root) for path in paths + asked}
    names = Names(units.values())
    macros = {}
    for unit in units.values():
        macros.update(unit.macros)
    includes, bodies = set(), []
    for path, unit in units.items():
        rename(unit, names, {**macros, **unit.macros})
        body, system = body_of(unit)
        includes.update(system)
        some = sources.macros.get(path, ()) if path in asked else ()
        if 0 < len(some) < len(ASKED_PARTS):
            body = f"{asked_by(some)}{body}\n#endif"
        if asked and path == asked[0]:
            bodies.append(KEEP_OUT + "\n" + asked_by(ASKED_PARTS.values()))
        bodies.append(boundary(unit.title) + body + "\n")
    if asked:
        bodies.append("\n#endif\n")
    licence = (root / "LICENSE").read_text(encoding="utf-8").strip().splitlines()
    top = TOP.format(version=re.search(r'#define HOTPATH_VERSION "(.*)"', header).group(1),
                     licence="\n".join(f" * {line}".rstrip() for line in licence),
                     includes="\n".join(sorted(includes)))
    return {"hotpath.c": top + "".join(bodies) + BOTTOM, "hotpath.h": header}


def files_read(root):
    """Every file that the two files are made from."""
    sources = Sources(root)
    units = in_order([*sources.library, *sources.macros], root, set())
    lists = [path.parent / name for path in units for *_, name in LIST.findall(path.read_text(encoding="utf-8"))]
    makers = [root / name for name in ("include/hotpath.h", "LICENSE", "src/CMakeLists.txt", SECTION_LIST)]
    return [path for path in dict.fromkeys([*makers, *parts_of_header(root), *units, *lists]) if path.exists()]


def depfile(target, paths):
    """A rule of make: target depends on these."""
    def escaped(path):
        return str(path).replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")

    return f"{escaped(target)}: \\\n" + " \\\n".join(f"  {escaped(path)}" for path in paths) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Writes the whole library as two files, hotpath.c and hotpath.h.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent,
                        help="sources (default: this tree)")
    parser.add_argument("--depfile", type=Path, help="write here which files were read, as a rule of make")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the two files go")
    arguments = parser.parse_args()
    root, folder = arguments.root.resolve(), arguments.folder.absolute()
    try:
        files = amalgamate(root)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
        if arguments.depfile:
            arguments.depfile.write_text(depfile(folder / "hotpath.c", files_read(root)))
    except (Problem, OSError) as problem:
        sys.exit(f"amalgamate.py: {problem}")


if __name__ == "__main__":
    main()
