"""The page of a report in a browser, for tests. Needs chromium, chromedriver and selenium for Python."""
import json
import os
import shutil
from pathlib import Path

import pytest

from command import Cli

webdriver = pytest.importorskip("selenium.webdriver", reason="needs python3-selenium")
service = pytest.importorskip("selenium.webdriver.chrome.service", reason="needs python3-selenium")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


class Browser:
    """The page in its own window."""

    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage", f"--user-data-dir={folder / 'browser'}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=service.Service(DRIVER))
        self.driver.set_script_timeout(60)
        self.size(1440, 900)

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def open(self, path, address=""):
        self.driver.get("about:blank")
        self.driver.get(f"file://{path}{address}")
        self.ready()

    def ready(self):
        self.driver.execute_async_script("""
            const done = arguments[0], page = document.documentElement;
            const look = () => page.dataset.ready ? done() : setTimeout(look, 20);
            look();""")

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def key(self, *keys):
        for key in keys:
            self.run("(document.activeElement || document.body).dispatchEvent("
                     "new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true}))", key)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(one => one.textContent)", selector)

    def sentence(self):
        return self.run("return document.getElementById('verdict').dataset.sentence")

    def stretch(self, from_ms, to_ms):
        self.run("location.hash = arguments[0]", f"#t={from_ms}-{to_ms}")
        self.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 30))")
        return self.sentence()

    def check(self):
        """There were no errors, and nothing was requested but the page itself."""
        problems = [entry["message"] for entry in self.driver.get_log("browser")]
        assert problems == [], problems
        asked = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [one["params"] for one in asked if one["method"] == "Network.requestWillBeSent"]
        urls = {one["request"]["url"].split("#")[0] for one in asked if one["documentURL"].startswith("file:")}
        assert len(urls) == 1 and urls.pop().endswith("/page.html")

    def picture(self, name):
        if folder := os.environ.get("HOTPATH_PAGE_PICTURES"):
            self.driver.save_screenshot(str(Path(folder) / name))


@pytest.fixture
def cli(box):
    return Cli(box)


@pytest.fixture
def browser(tmp_path):
    browser = Browser(tmp_path)
    yield browser
    browser.driver.quit()
