"""Groups, labels, suspension and erasure as events of the catalog: conditional, at once, and provable afterwards."""

import json

import pytest

from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.catalog.catalog import (
    CatalogError,
    ErasedError,
    define_principal,
    read_catalog,
    receive,
    record_failure,
    record_rejection,
    register_version,
    rules_digest,
)
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.catalog.lifecycle import (
    grant,
    record_erased,
    record_erasure_done,
    redact_log,
    resume,
    revoke,
    set_labels,
    suspend,
)
from finrag_pipelines.catalog.log import FOLDER, check_log, write_entry
from finrag_pipelines.storage import Store

NOTE = Identity(company="HSF", form="memo", filed="2026-05-06", title="Heron margin outlook", author="A. Quill")
NOTE_ID = "HSF_memo_2026-05-06"
A, B = "a" * 64, "b" * 64
ANN = Principal("ann", frozenset({"public", "research"}))


@pytest.fixture
def noted(store: Store) -> Store:
    receive(store, NOTE, A, "heron.docx", "/in/heron.docx", ["research"], {"title": "Heron margin outlook"})
    version = register_version(store, NOTE_ID, A, 0)
    record_failure(store, version, "parsing", "odd", "Heron cannot be read")
    record_rejection(store, "/in/heron.docx", "heron.docx", B, "odd", "Heron again")
    return store


def log_text(store: Store) -> str:
    return "".join(path.read_text() for path in sorted(store.path(*FOLDER).iterdir()))


def test_groups_are_granted_and_revoked_with_an_epoch_each(store: Store) -> None:
    assert grant(store, "ann", ["research"]).groups == {"public", "research"}
    assert grant(store, "ann", ["desk"]).groups == {"public", "research", "desk"}
    assert revoke(store, "ann", ["research"]).groups == {"public", "desk"}
    assert read_catalog(store).policy_epoch == 3
    grant(store, "ann", ["desk"])
    assert read_catalog(store).policy_epoch == 3
    with pytest.raises(CatalogError, match="no principal is called 'bob'"):
        revoke(store, "bob", ["desk"])
    for change in (lambda: grant(store, "public", ["x"]), lambda: revoke(store, "ann", ["public"])):
        with pytest.raises(CatalogError):
            change()


def test_what_an_operator_revoked_is_not_granted_again_by_a_file_in_a_folder(store: Store) -> None:
    define_principal(store, "ann", ["research"])
    revoke(store, "ann", ["research"])
    define_principal(store, "ann", ["research"])
    assert read_catalog(store).principal("ann").groups == {"public"}


def test_labels_that_an_operator_set_are_not_changed_by_a_sidecar(noted: Store) -> None:
    set_labels(noted, NOTE_ID, ["closed"])
    assert receive(noted, NOTE, A, "heron.docx", "/in/heron.docx", ["public"], {"title": "Heron margin outlook"}) == (
        NOTE_ID,
        False,
    )
    receive(noted, NOTE, B, "heron.docx", "/in/heron.docx", ["public"])
    assert read_catalog(noted).source(NOTE_ID).labels == ("closed",)
    receive(noted, NOTE, B, "heron.docx", "/in/heron.docx", ["public"], insists=True)
    assert read_catalog(noted).source(NOTE_ID).labels == ("public",)


def test_a_principal_counts_with_the_groups_it_still_has(noted: Store) -> None:
    grant(noted, "ann", ["research"])
    assert read_catalog(noted).may_read(ANN, NOTE_ID)
    revoke(noted, "ann", ["research"])
    assert not read_catalog(noted).may_read(ANN, NOTE_ID)
    assert not read_catalog(noted).may_read(PUBLIC_PRINCIPAL, "no such source")


def test_a_suspended_source_is_read_by_nobody_until_it_is_resumed(noted: Store) -> None:
    assert suspend(noted, NOTE_ID, "legal hold")
    assert not suspend(noted, NOTE_ID, "legal hold")
    catalog = read_catalog(noted)
    assert not catalog.may_read(ANN, NOTE_ID)
    assert catalog.source(NOTE_ID).withheld == "is suspended: legal hold"
    assert catalog.seen_by(ANN).sources == {}
    assert resume(noted, NOTE_ID) and not resume(noted, NOTE_ID)
    assert read_catalog(noted).may_read(ANN, NOTE_ID)
    assert read_catalog(noted).policy_epoch == catalog.policy_epoch + 1
    with pytest.raises(CatalogError, match="no source is called"):
        suspend(noted, "NO_SUCH")


def test_what_a_principal_may_not_read_changes_nothing_that_it_sees_of_the_rules(noted: Store) -> None:
    seen = read_catalog(noted).seen_by(PUBLIC_PRINCIPAL)
    assert (seen.sources, seen.source_of_content, seen.rejections) == ({}, {}, {})
    before = rules_digest(seen)
    set_labels(noted, NOTE_ID, ["closed"])
    grant(noted, "ann", ["closed"])
    assert rules_digest(read_catalog(noted).seen_by(PUBLIC_PRINCIPAL)) == before


def test_an_erased_source_leaves_hashes_and_no_words_in_the_log(noted: Store) -> None:
    erasure = record_erased(noted, NOTE_ID, None, frozenset({"f" * 64}), "asked for")
    assert check_log(noted) == 5
    assert "Heron" in log_text(noted)
    assert redact_log(noted, erasure) == 3
    record_erasure_done(noted, erasure, {})
    for word in ("Heron", "heron", "Quill"):
        assert word not in log_text(noted)
    assert check_log(noted) == 6
    catalog = read_catalog(noted)
    assert catalog.erased_contents == {A} and catalog.erased_texts == {"f" * 64}
    assert catalog.erasures[0].is_done
    source = catalog.source(NOTE_ID)
    assert (source.identity.title, source.identity.filed) == (None, "2026-05-06")
    assert source.versions[0].is_erased and source.versions[0].failure is None
    assert not catalog.may_read(ANN, NOTE_ID) and catalog.rejections == {}
    with pytest.raises(CatalogError, match="was erased"):
        suspend(noted, NOTE_ID)


def test_a_fresh_reading_of_the_log_gives_what_the_running_one_has(noted: Store) -> None:
    erasure = record_erased(noted, NOTE_ID, None, frozenset(), "")
    running = read_catalog(noted)
    redact_log(noted, erasure)
    moved = noted.root.rename(noted.root.with_name("moved"))
    assert read_catalog(Store(moved)) == running


def test_erased_bytes_are_not_taken_again_and_other_ones_are_another_source(noted: Store) -> None:
    record_erased(noted, NOTE_ID, None, frozenset(), "")
    with pytest.raises(ErasedError, match=f"erased on .* as part of {NOTE_ID}"):
        receive(noted, NOTE, A, "heron.docx", "/in/heron.docx")
    assert receive(noted, NOTE, B, "heron.docx", "/in/heron.docx") == (f"{NOTE_ID}_{B[:8]}", True)


def test_a_tombstone_is_written_once(noted: Store) -> None:
    erasure = record_erased(noted, NOTE_ID, None, frozenset(), "first")
    before = read_catalog(noted).sequence
    assert record_erased(noted, NOTE_ID, None, frozenset(), "second") == erasure
    assert read_catalog(noted).sequence == before
    record_erasure_done(noted, erasure, {})
    record_erasure_done(noted, erasure, {})
    assert read_catalog(noted).sequence == before + 1


def test_a_superseded_version_goes_and_the_newest_stays(noted: Store) -> None:
    receive(noted, NOTE, B, "heron.docx", "/in/heron.docx", ["research"])
    register_version(noted, NOTE_ID, B, 1)
    with pytest.raises(CatalogError, match="erase the source"):
        record_erased(noted, NOTE_ID, frozenset({B}), frozenset(), "")
    redact_log(noted, record_erased(noted, NOTE_ID, frozenset({A}), frozenset(), "expired"))
    source = read_catalog(noted).source(NOTE_ID)
    assert [one.is_erased for one in source.versions] == [True, False]
    assert source.identity.title == "Heron margin outlook"
    assert read_catalog(noted).may_read(ANN, NOTE_ID)
    assert check_log(noted)


def test_a_redaction_that_no_erasure_vouches_for_is_found(noted: Store) -> None:
    redact_log(noted, record_erased(noted, NOTE_ID, None, frozenset(), ""))
    path = noted.path(*FOLDER, "00000001.json")
    entry = json.loads(path.read_bytes())
    entry["events"][0]["labels"] = ["public"]
    path.write_text(json.dumps(entry, sort_keys=True, separators=(",", ":")))
    with pytest.raises(CatalogError, match="redacted by no erasure"):
        check_log(noted)
    with pytest.raises(CatalogError, match="redacted by no erasure"):
        read_catalog(Store(noted.root.rename(noted.root.with_name("moved"))))


def test_the_salt_of_an_entry_goes_with_its_words(store: Store) -> None:
    write_entry(store, 1, None, [])
    salt = json.loads(store.path(*FOLDER, "00000001.json").read_bytes())["salt"]
    assert len(salt) == 32
