"""A real client of the Model Context Protocol: the package `mcp` from PyPI, of either of its two great versions.

    PYTHON mcp_client.py MODE CALLS -- COMMAND...      run by the interpreter that has the package

MODE is "auto", "legacy" or a revision (version 2 of the package only); CALLS is a JSON list of [tool, arguments].
Prints one JSON object: the revision agreed upon, the server, its tools, and the answers.

SPDX-License-Identifier: MIT
"""
import asyncio
import json
import sys


def described(tools, answers, version, server):
    return {"version": version, "server": server,
            "tools": {tool.name: {"read_only": is_read_only(tool.annotations)} for tool in tools},
            "answers": [[answer.content[0].text, is_error(answer)] for answer in answers]}


def is_read_only(annotations):
    return getattr(annotations, "read_only_hint", getattr(annotations, "readOnlyHint", None))


def is_error(answer):
    return bool(getattr(answer, "is_error", getattr(answer, "isError", False)))


async def ask_second(mode, calls, command):
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters
    async with Client(StdioServerParameters(command=command[0], args=command[1:]), mode=mode,
                      read_timeout_seconds=60) as client:
        tools = (await client.list_tools()).tools
        answers = [await client.call_tool(name, arguments) for name, arguments in calls]
        return described(tools, answers, client.protocol_version, client.server_info and client.server_info.name)


async def ask_first(calls, command):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    async with stdio_client(StdioServerParameters(command=command[0], args=command[1:])) as (reads, writes):
        async with ClientSession(reads, writes) as session:
            begun = await session.initialize()
            await session.send_ping()
            tools = (await session.list_tools()).tools
            answers = [await session.call_tool(name, arguments) for name, arguments in calls]
            return described(tools, answers, begun.protocolVersion, begun.serverInfo.name)


def main():
    mode, calls = sys.argv[1], json.loads(sys.argv[2])
    command = sys.argv[sys.argv.index("--") + 1:]
    try:
        from mcp import Client  # noqa: F401, only version 2 has it
        asked = ask_second(mode, calls, command)
    except ImportError:
        asked = ask_first(calls, command)
    print(json.dumps(asyncio.run(asked)))


if __name__ == "__main__":
    main()
