"""Addresses of model servers: they enter the record, so they may hold no secrets."""

import ipaddress
from urllib.parse import urlsplit

from finrag_pipelines.answering.generators.model import GeneratorError


def checked_address(url: str) -> str:
    """Return the address without a trailing slash. Raises GeneratorError for one that is none or holds a password."""
    address = url.strip().rstrip("/")
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid, parts = False, urlsplit("")
    if not valid:
        raise GeneratorError("unknown", "the base URL is no http address; write e.g. http://127.0.0.1:8080/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        message = "the base URL is recorded, so it may hold no password or query; put a key into FINRAG_API_KEY"
        raise GeneratorError("unknown", message)
    return address


def through_proxy(url: str) -> bool:
    """Tell whether a proxy of the environment may be used: never to reach this machine itself."""
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
