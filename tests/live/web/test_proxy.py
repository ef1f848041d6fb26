"""The proxy file as shipped, in Debian's nginx, with a certificate made for the test."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.live.service.servers import Server, caller, start
from tests.live.study.played import opened
from tests.live.web.browsing import press

SHIPPED = Path(__file__).parents[3] / "examples/serving/nginx.conf"
JOIN = "/s/two-tests"


@dataclass
class Proxy:
    """nginx before a service; `http` calls it over TLS, `plain` without."""

    service: Server
    folder: Path
    http: httpx.Client
    plain: httpx.Client

    @property
    def address(self) -> str:
        """Where browsers find the service."""
        return str(self.http.base_url).rstrip("/")

    @property
    def logged(self) -> str:
        """Everything that nginx has written."""
        return "".join((self.folder / name).read_text() for name in ("nginx.log", "start.log"))


def free_ports(number: int) -> list[int]:
    """Ports of loopback that are free now."""
    made = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in made]
    for each in made:
        each.close()
    return ports


def wait_for(running: subprocess.Popen[bytes], http: httpx.Client) -> None:
    """Until nginx answers."""
    end = time.monotonic() + 60.0
    while True:
        assert running.poll() is None, "nginx did not start"
        assert time.monotonic() < end
        try:
            http.get("/")
            return
        except httpx.TransportError:
            time.sleep(0.05)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    nginx, openssl = shutil.which("nginx"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("needs a proxy; install it: apt-get install nginx openssl")
    folder = tmp_path_factory.mktemp("proxy")
    tls, plain = free_ports(2)
    public = f"https://localhost:{tls}"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    opened(folder)[0].close()
    options = ("--database", folder / "live.db", "--rate", 0, "--public-url", public)
    service = start(folder, *options, trusts=False)
    # Addresses and files of this test; everything else is run as it is shipped.
    changes = {
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{tls} ssl;",
        "https://preceptor.example.org$request_uri": f"{public}$request_uri",
        "server_name preceptor.example.org;": "server_name localhost;",
        "http://127.0.0.1:8000": service.address,
        "/etc/ssl/preceptor.pem": str(folder / "cert.pem"),
        "/etc/ssl/preceptor.key": str(folder / "key.pem"),
        "/var/log/nginx/preceptor.log": str(folder / "nginx.log"),
    }
    text = SHIPPED.read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\n"
        f"error_log {folder}/start.log crit;\nevents {{}}\nhttp {{\n{places}{text}}}\n"
    )
    running = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"])
    try:
        with caller(public) as http, caller(f"http://127.0.0.1:{plain}") as unencrypted:
            wait_for(running, http)
            yield Proxy(service, folder, http, unencrypted)
    finally:
        running.terminate()
        running.wait()
        assert service.stop() == 0


def test_plain_requests_are_redirected(proxy: Proxy) -> None:
    moved = proxy.plain.get(f"{JOIN}?PID=7")
    assert moved.status_code == 301
    assert moved.headers["location"] == f"{proxy.address}{JOIN}?PID=7"


def test_browsers_are_told_to_keep_to_https(proxy: Proxy) -> None:
    for path in ("/", "/nothing", "/metrics"):
        assert proxy.http.get(path).headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz", "/explore", "/explore/x"])
def test_what_is_for_this_machine_stays_there(proxy: Proxy, path: str) -> None:
    assert proxy.http.get(path).status_code == 404


def test_without_the_proxy_file_the_explorer_is_closed_too(proxy: Proxy) -> None:
    assert proxy.service.http.get("/explore").status_code == 404


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "study.example.org"])
def test_strangers_are_not_the_owner(proxy: Proxy, host: str) -> None:
    headers = {"Host": host}
    assert proxy.http.get("/v1/log", headers=headers).status_code == 401
    assert proxy.http.get("/studies", headers=headers).status_code == 303


def test_links_and_cookies_are_for_https(proxy: Proxy) -> None:
    with caller(proxy.address) as http:
        joined = http.post(JOIN)
        assert joined.status_code == 303
        assert "Secure" in joined.headers["set-cookie"]
        page = http.get(f"{JOIN}/link").text
        csrf = re.search(r'name="csrf" value="(\w+)"', page)
        assert csrf is not None
        made = http.post(f"{JOIN}/link", data={"csrf": csrf.group(1)}).text
        link = re.search(r"https://localhost:\d+/s/[\w-]+/p/[\w-]+", made)
        assert link is not None, made
        assert link.group().startswith(proxy.address)
        assert http.get(link.group()).status_code == 200


def test_the_owner_signs_in_with_the_link_and_out_again(proxy: Proxy, browser: Browser) -> None:
    said = re.search(r"Owner, to sign in once: (\S+)", proxy.service.log.read_text())
    assert said is not None
    assert said.group(1).startswith(proxy.address)
    with browser.new_context(ignore_https_errors=True) as context:
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(said.group(1))
        press(page, "Sign in")
        expect(page.get_by_role("heading", name="Studies", level=1)).to_be_visible()
        (cookie,) = context.cookies()
        assert (cookie["secure"], cookie["httpOnly"]) == (True, True)
        press(page, "Sign out")
        expect(page.get_by_label("Admin token")).to_be_visible()
    held = proxy.http.get("/studies", headers={"Cookie": f"owner={cookie['value']}"})
    assert held.status_code == 303


def test_one_address_cannot_take_all_places(proxy: Proxy) -> None:
    """The last tests: they use up what this address may do."""
    got = [proxy.http.post(JOIN).status_code for _ in range(60)]
    assert 30 <= got.count(303) <= 45
    assert got.count(303) + got.count(429) == 60
    assert proxy.http.get(JOIN).status_code == 200, "reading is not joining"


def test_one_address_cannot_send_without_end(proxy: Proxy) -> None:
    with caller(proxy.address) as http:
        got = {http.get(f"/s/x/p/secret-{i}").status_code for i in range(1000)}
    assert 429 in got


def test_no_secret_reaches_a_log(proxy: Proxy) -> None:
    assert proxy.logged == "", "nginx has nothing to say about requests"
