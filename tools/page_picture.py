#!/usr/bin/python3
"""A picture of the page of examples/orders, as a browser shows its first view: docs/page.png.

usage: page_picture.py BUILD_DIR FILE.png [SECONDS [ADDRESS]]

The program runs that long; ADDRESS is the part of the page's address behind #. Needs chromium and an idle machine.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ADDRESS = "t=5000-12000&f=reserve_stock&theme=light"


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    build, picture = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    seconds, address = (sys.argv[3:] + ["20", ADDRESS][len(sys.argv) - 3:])[:2]
    hotpath = os.path.join(build, "bin", "hotpath")
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, HOTPATH_DIR=folder, LD_LIBRARY_PATH=os.path.join(build, "lib"))
        shutil.copy(os.path.join(build, "examples", "orders"), folder)
        subprocess.run([hotpath, "run", "--format", "none", "--", "./orders", seconds], cwd=folder, env=environment,
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([hotpath, "report", "--format", "html", "-o", "run.html"], cwd=folder, env=environment,
                       check=True)
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        "--force-device-scale-factor=1", f"--user-data-dir={folder}/browser",
                        "--window-size=1440,900", "--virtual-time-budget=5000", f"--screenshot={picture}",
                        f"file://{folder}/run.html#{address}"], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
