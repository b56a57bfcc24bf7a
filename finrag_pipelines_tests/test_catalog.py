"""The catalog: conditional changes over an append-only log."""

import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.catalog.catalog import (
    define_principal,
    read_catalog,
    receive,
    record_failure,
    record_parsed,
    record_rejection,
    register_version,
    source_id_for,
)
from finrag_pipelines.catalog.identity import Finding, Identity
from finrag_pipelines.catalog.log import FOLDER, CatalogError, ConflictError, check_log
from finrag_pipelines.catalog.mirror import mirror_catalog
from finrag_pipelines.storage import Store
from finrag_pipelines.storage.database import snapshot

KO = Identity(company="KO", company_name="The Coca-Cola Company", form="10-Q", period="2025Q3", filed="2025-10-23")


def _hash(letter: str) -> str:
    return letter * 64


def test_bytes_become_a_source_with_a_readable_id(store: Store) -> None:
    assert receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm") == ("KO_10-Q_2025Q3", True)
    source = read_catalog(store).source("KO_10-Q_2025Q3")
    assert source.current is None
    assert source.identity == KO


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        (KO, "KO_10-Q_2025Q3"),
        (Identity(company="KO", form="10-Q/A", period="2025Q3"), "KO_10-Q-A_2025Q3"),
        (Identity(company="PEP", form="transcript", period="2026Q1"), "PEP_transcript_2026Q1"),
        (Identity(company="PEP", form="8-K", period="2026Q1", filed="2026-04-16"), "PEP_8-K_2026-04-16"),
        (Identity(company="PEP", form="memo"), "PEP_memo_undated"),
    ],
)
def test_a_source_id_names_company_form_and_period_or_date(identity: Identity, expected: str) -> None:
    assert source_id_for(identity) == expected


def test_known_bytes_under_another_name_are_the_same_source(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    before = read_catalog(store).sequence
    assert receive(store, KO, _hash("a"), "copy.htm", "/in/copy.htm") == ("KO_10-Q_2025Q3", False)
    assert read_catalog(store).sequence == before


def test_other_bytes_under_the_same_name_continue_the_source(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    assert receive(store, KO, _hash("b"), "ko.htm", "/in/ko.htm") == ("KO_10-Q_2025Q3", True)


def test_other_bytes_under_another_name_get_an_id_of_their_own(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    assert receive(store, KO, _hash("b"), "ko.pdf", "/in/ko.pdf") == ("KO_10-Q_2025Q3_bbbbbbbb", True)


def test_versions_count_up_and_an_equal_one_changes_nothing(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    first = register_version(store, "KO_10-Q_2025Q3", _hash("a"), expected=0)
    receive(store, KO, _hash("b"), "ko.htm", "/in/ko.htm")
    second = register_version(store, "KO_10-Q_2025Q3", _hash("b"), expected=1)
    before = read_catalog(store).sequence
    assert register_version(store, "KO_10-Q_2025Q3", _hash("b"), expected=2) == second
    assert (first.version, second.version, read_catalog(store).sequence) == (1, 2, before)


def test_a_version_built_on_an_old_state_is_a_conflict_and_writes_nothing(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    register_version(store, "KO_10-Q_2025Q3", _hash("a"), expected=0)
    receive(store, KO, _hash("b"), "ko.htm", "/in/ko.htm")
    before = read_catalog(store)
    with pytest.raises(ConflictError, match="at version 1, not 0"):
        register_version(store, "KO_10-Q_2025Q3", _hash("b"), expected=0)
    assert read_catalog(store) == before


def _receive_many(root: str, letter: str) -> None:
    for number in range(10):
        identity = Identity(company=f"{letter}{number}", form="10-Q", period="2025Q3")
        receive(
            Store(Path(root)), identity, f"{letter}{number}".rjust(64, "0"), f"{letter}{number}", f"/{letter}{number}"
        )


def test_processes_that_write_at_once_lose_nothing(store: Store) -> None:
    context = get_context("spawn")
    writers = [context.Process(target=_receive_many, args=(str(store.root), letter)) for letter in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    catalog = read_catalog(store)
    assert len(catalog.sources) == catalog.sequence == 40


@pytest.mark.parametrize(
    ("point", "entries"), [("catalog.before_append", 0), ("storage.before_link", 0), ("catalog.after_append", 1)]
)
def test_kill_9_leaves_no_entry_or_a_whole_one(store: Store, point: str, entries: int) -> None:
    code = (
        "from pathlib import Path; from finrag_pipelines.storage import Store;"
        "from finrag_pipelines.catalog.catalog import record_rejection;"
        f"record_rejection(Store(Path({str(store.root)!r})), '/in/x', 'x', None, 'empty', 'is empty')"
    )
    killed = subprocess.run([sys.executable, "-c", code], env={**os.environ, "FINRAG_CRASH_AT": point})
    assert killed.returncode == -9
    assert read_catalog(store).sequence == entries
    record_rejection(store, "/in/y", "y", None, "empty", "is empty")
    assert read_catalog(store).sequence == entries + 1


def test_an_altered_or_missing_log_entry_is_noticed(store: Store) -> None:
    for name in "xyz":
        record_rejection(store, f"/in/{name}", name, None, "empty", "is empty")
    assert check_log(store) == 3
    path = store.path(*FOLDER, "00000001.json")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"/in/x", b"/in/z"))
    with pytest.raises(CatalogError, match="does not follow"):
        check_log(store)
    path.write_bytes(content)
    store.path(*FOLDER, "00000002.json").unlink()
    with pytest.raises(CatalogError, match="has no entry 2"):
        check_log(store)


def test_a_rejection_is_kept_until_the_input_is_good(store: Store) -> None:
    record_rejection(store, "/in/ko.htm", "ko.htm", _hash("0"), "empty", "is empty")
    assert read_catalog(store).rejections["/in/ko.htm"].code == "empty"
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    assert read_catalog(store).rejections == {}


def test_a_failed_version_becomes_good_again_when_it_is_parsed(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    version = register_version(store, "KO_10-Q_2025Q3", _hash("a"), 0)
    record_failure(store, version, "parsing", "not_covered", "characters [0, 5) belong to no element")
    failed = read_catalog(store).source("KO_10-Q_2025Q3").current
    assert failed and failed.failure and failed.failure[1] == "not_covered"
    record_parsed(store, version, "r" * 64, "parser/1")
    parsed = read_catalog(store).source("KO_10-Q_2025Q3").current
    assert parsed and parsed.failure is None and parsed.representation_id == "r" * 64


def test_another_stated_identity_for_known_bytes_is_parsed_again(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    version = register_version(store, "KO_10-Q_2025Q3", _hash("a"), 0)
    record_parsed(store, version, "r" * 64, "parser/1")
    corrected = Identity(
        company="KO",
        form="10-Q",
        period="2025Q3",
        title="Third quarter",
        findings=(Finding("title", "Third quarter", "sidecar"),),
    )
    assert receive(store, corrected, _hash("a"), "ko.htm", "/in/ko.htm", overrides={"title": "Third quarter"}) == (
        "KO_10-Q_2025Q3",
        True,
    )
    current = read_catalog(store).source("KO_10-Q_2025Q3").current
    assert current and current.version == 1 and current.representation_id is None and current.identity == corrected


def test_access_changes_count_the_policy_epoch_up(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm", labels=["research"])
    define_principal(store, "analyst", ["research"])
    define_principal(store, "analyst", ["research"])
    catalog = read_catalog(store)
    assert catalog.policy_epoch == 1
    assert catalog.principal("analyst").may_read(catalog.source("KO_10-Q_2025Q3").labels)
    assert not catalog.principal("public").may_read(catalog.source("KO_10-Q_2025Q3").labels)
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm", labels=["board"])
    catalog = read_catalog(store)
    assert catalog.policy_epoch == 2 and catalog.source("KO_10-Q_2025Q3").labels == ("board",)


def test_the_public_principal_cannot_be_given_more_groups(store: Store) -> None:
    with pytest.raises(CatalogError, match="public"):
        define_principal(store, "public", ["research"])


def test_an_unknown_principal_is_an_error_that_names_the_known_ones(store: Store) -> None:
    with pytest.raises(CatalogError, match="known: public"):
        read_catalog(store).principal("nobody")


def test_a_principal_without_a_shared_group_may_not_read() -> None:
    assert not Principal("p", frozenset({"public", "sales"})).may_read(["research", "board"])


def test_the_database_mirrors_the_log(store: Store) -> None:
    receive(store, KO, _hash("a"), "ko.htm", "/in/ko.htm")
    version = register_version(store, "KO_10-Q_2025Q3", _hash("a"), 0)
    record_parsed(store, version, "r" * 64, "parser/1")
    record_rejection(store, "/in/x", "x", None, "empty", "is empty")
    mirror_catalog(store, frozenset({("KO_10-Q_2025Q3", 1)}))
    mirror_catalog(store, frozenset({("KO_10-Q_2025Q3", 1)}))
    with snapshot(store) as connection:
        sources = connection.execute("SELECT source_id, current_version, availability FROM catalog.sources").fetchall()
        events = connection.execute("SELECT type FROM catalog.lifecycle_events ORDER BY sequence").fetchall()
        rejected = connection.execute("SELECT code FROM catalog.rejections").fetchall()
    assert sources == [("KO_10-Q_2025Q3", 1, "published")]
    assert [event for (event,) in events] == ["received", "version_registered", "parsed", "rejected"]
    assert rejected == [("empty",)]


def test_a_missing_log_entry_is_noticed_and_not_written_over(store: Store) -> None:
    for letter in "abc":
        receive(store, KO, _hash(letter), f"{letter}.htm", f"/in/{letter}.htm")
    other = Store(store.root.rename(store.root.with_name("copy")))
    other.path(*FOLDER, "00000002.json").unlink()
    with pytest.raises(CatalogError, match="has no entry 2"):
        receive(other, KO, _hash("d"), "d.htm", "/in/d.htm")


def test_an_entry_that_is_json_but_no_entry_is_a_damaged_log(store: Store) -> None:
    receive(store, KO, _hash("a"), "a.htm", "/in/a.htm")
    path = store.path(*FOLDER, "00000001.json")
    path.write_text(path.read_text().replace('"content_sha256"', '"content_sha255"'))
    with pytest.raises(CatalogError):
        read_catalog(Store(store.root.rename(store.root.with_name("copy"))))
