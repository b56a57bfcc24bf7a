"""A real Dagster webserver and daemon on loopback for tests, and what the UI asks them through GraphQL."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
LOCATION, REPOSITORY = "finrag_pipelines", "__repository__"
_BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Webserver:
    """A running webserver."""

    address: str

    def ask(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a GraphQL query and return its data. Fails on errors."""
        body = json.dumps({"query": query, "variables": variables or {}}).encode()
        request = urllib.request.Request(f"{self.address}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as response:
            answer = json.load(response)
        assert not answer.get("errors"), answer["errors"]
        return answer["data"]

    def backfill(self, assets: Sequence[str], partitions: Sequence[str], config: dict[str, Any] | None = None) -> str:
        """Launch a backfill as the UI's dialog does; return its id."""
        mutation = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
            __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message }
            ... on UnauthorizedError { message } ... on PartitionSetNotFoundError { message } } }"""
        params: dict[str, Any] = {
            "assetSelection": [{"path": [name]} for name in assets],
            "partitionNames": list(partitions),
        }
        if config:
            params["runConfigData"] = json.dumps(config)
        launched = self.ask(mutation, {"params": params})["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return launched["backfillId"]

    def backfill_status(self, backfill_id: str) -> str:
        """Return REQUESTED, COMPLETED_SUCCESS, COMPLETED_FAILED, FAILED, …"""
        query = (
            "query($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"
        )
        return self.ask(query, {"id": backfill_id})["partitionBackfillOrError"]["status"]

    def metadata(self, asset: str, partitions: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return the metadata of the newest materializations of an asset, newest first, as label -> value."""
        query = """query($key: AssetKeyInput!, $partitions: [String!]) { assetOrError(assetKey: $key) { ... on Asset {
            assetMaterializations(limit: 100, partitions: $partitions) { partition metadataEntries { label
              ... on MarkdownMetadataEntry { mdStr } ... on IntMetadataEntry { intValue }
              ... on BoolMetadataEntry { boolValue } ... on TextMetadataEntry { text } } } } } }"""
        found = self.ask(query, {"key": {"path": [asset]}, "partitions": partitions})["assetOrError"]
        return [
            {"partition": one["partition"]}
            | {
                entry["label"]: next((v for k, v in entry.items() if k != "label" and v is not None), None)
                for entry in one["metadataEntries"]
            }
            for one in found["assetMaterializations"]
        ]


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def dagster_serving(home: Path, daemon: bool = True, **environment: str) -> Iterator[Webserver]:
    """Run webserver and `daemon` on a DAGSTER_HOME of their own, set up by the project's dagster.yaml; stop both."""
    home.mkdir(parents=True, exist_ok=True)
    settings = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    settings["storage"] = {"sqlite": {"base_dir": str(home)}}
    for name in ("local_artifact_storage", "compute_logs"):
        settings[name]["config"] = {"base_dir": str(home / name)}
    (home / "dagster.yaml").write_text(yaml.safe_dump(settings))
    env = {**os.environ, "DAGSTER_HOME": str(home), **environment}
    workspace, port = str(ROOT / "workspace.yaml"), free_port()
    address = f"http://127.0.0.1:{port}"
    commands = (
        [str(_BIN / "dagster-webserver"), "-w", workspace, "-h", "127.0.0.1", "-p", str(port)],
        [str(_BIN / "dagster-daemon"), "run", "-w", workspace],
    )
    running = []
    try:
        for command in commands if daemon else commands[:1]:
            with (home / f"{Path(command[0]).name}.log").open("wb") as log:
                running.append(subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT))
        server = Webserver(address)
        _wait_until_loaded(server, home)
        yield server
    finally:
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_loaded(server: Webserver, home: Path, seconds: float = 180) -> None:
    query = "{ repositoriesOrError { __typename ... on RepositoryConnection { nodes { location { name } } } } }"
    last: object = None
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            last = server.ask(query)["repositoriesOrError"]
            if any(one["location"]["name"] == LOCATION for one in last.get("nodes", ())):
                return
        except (OSError, AssertionError) as error:
            last = error
        time.sleep(1)
    raise AssertionError(f"the code location did not load: {last}; see the logs in {home}")
