"""Receiving documents: good ones become sources, the others rows with a reason."""

import json
import zipfile
from pathlib import Path

import pytest

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.ingestion.folder import SidecarError, find_documents, read_principals, read_sidecar
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.parsing.parse import Overrides
from finrag_pipelines.storage import Store

NOTICE = """# Harbour Street Fund

Announcement of 3 May 2023

The fund changes its benchmark with effect from 1 June 2023. The management fee stays at 0.45 percent a year.
"""
STATED = {"company": "HSF", "company_name": "Harbour Street Fund", "form": "fund_announcement", "filed": "2023-05-03"}


@pytest.fixture
def notice(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "notice.md"
    path.parent.mkdir()
    path.write_text(NOTICE)
    path.with_name("notice.md.meta.json").write_text(json.dumps(STATED))
    return path


def test_a_document_with_a_sidecar_is_the_source_that_the_sidecar_says(store: Store, notice: Path) -> None:
    receipt = receive_file(store, notice)
    assert (receipt.source_id, receipt.is_new, receipt.code) == ("HSF_announcement_2023-05-03", True, None)
    identity = read_catalog(store).source("HSF_announcement_2023-05-03").identity
    assert {f.name: f.basis for f in identity.findings}["company"] == "sidecar"


def test_receiving_unchanged_bytes_again_changes_nothing(store: Store, notice: Path) -> None:
    receive_file(store, notice)
    before = sorted(path for path in store.root.rglob("*") if path.is_file())
    assert not receive_file(store, notice).is_new
    assert sorted(path for path in store.root.rglob("*") if path.is_file()) == before


def test_changed_bytes_under_the_same_name_continue_the_source(store: Store, notice: Path) -> None:
    first = receive_file(store, notice)
    notice.write_text(NOTICE.replace("0.45", "0.40"))
    second = receive_file(store, notice)
    assert (second.source_id, second.is_new) == (first.source_id, True)
    assert len(read_catalog(store).source(str(first.source_id)).received) == 2


def test_flags_win_over_the_sidecar(store: Store, notice: Path) -> None:
    receipt = receive_file(store, notice, Overrides(filed="2023-05-04"), ("board",))
    assert receipt.source_id == "HSF_announcement_2023-05-04"
    assert read_catalog(store).source(receipt.source_id).labels == ("board",)


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "text")


BAD = {
    "empty.htm": lambda path: path.write_bytes(b""),
    "truncated.pdf": lambda path: path.write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog"),
    "archive.pdf": _zip,
    "not-found.htm": lambda path: path.write_text(
        "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was not found on "
        "this server.</p></body></html>"
    ),
    "picture.xyz": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200)),
    "letter.txt": lambda path: path.write_text(
        "Dear all,\n\nthe lift is out of order until Friday.\n\nThe caretaker\n"
    ),
    "broken-sidecar.md": lambda path: (
        path.write_text(NOTICE),
        path.with_name("broken-sidecar.md.meta.json").write_text('{"form": '),
    ),
    "unknown-field.md": lambda path: (
        path.write_text(NOTICE),
        path.with_name("unknown-field.md.meta.json").write_text('{"frm": "memo"}'),
    ),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input_is_rejected_with_a_reason_and_kept_as_a_row(store: Store, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    BAD[name](path)
    receipt = receive_file(store, path)
    assert receipt.source_id is None
    assert receipt.code and receipt.message and name in (receipt.message + receipt.path)
    row = read_catalog(store).rejections[str(path)]
    assert (row.code, row.message) == (receipt.code, receipt.message)
    assert not store.path("objects").exists()


def test_a_form_4_named_10_q_is_refused_for_what_it_is(store: Store, corpus: Path) -> None:
    receipt = receive_file(store, corpus / "sec" / "KO_10-Q_MISLABELED_is_Form4_2024-07-26.md")
    assert receipt.source_id is None
    assert receipt.code == "form_not_supported"


def test_sidecars_principals_and_hidden_files_are_no_documents(tmp_path: Path) -> None:
    for name in ("b.htm", "a.htm", "a.htm.meta.json", "principals.json", ".DS_Store", ".git/config", "sub/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert [str(p.relative_to(tmp_path)) for p in find_documents([tmp_path])] == ["a.htm", "b.htm", "sub/c.txt"]


@pytest.mark.parametrize(
    "content", ["[]", '{"access_labels": []}', '{"access_labels": "public"}', '{"company": 5}', '{"subjects": "KO"}']
)
def test_a_sidecar_that_makes_no_sense_says_which_and_why(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.htm.meta.json").write_text(content)
    with pytest.raises(SidecarError, match=r"x\.htm\.meta\.json"):
        read_sidecar(tmp_path / "x.htm")


def test_principals_are_read_from_the_folder(tmp_path: Path) -> None:
    assert read_principals(tmp_path) == {}
    (tmp_path / "principals.json").write_text('{"analyst": ["research"]}')
    assert read_principals(tmp_path) == {"analyst": ("research",)}


def test_a_new_version_without_a_statement_keeps_the_readers_of_the_old_one(store: Store, notice: Path) -> None:
    source_id = str(receive_file(store, notice, labels=("board",)).source_id)
    epoch = read_catalog(store).policy_epoch
    notice.write_text(NOTICE.replace("0.45", "0.40"))
    assert receive_file(store, notice).source_id == source_id
    assert read_catalog(store).source(source_id).labels == ("board",)
    receive_file(store, notice, labels=("public",))
    assert read_catalog(store).source(source_id).labels == ("public",)
    assert read_catalog(store).policy_epoch == epoch + 1


def test_labels_by_flag_count_for_known_bytes_from_another_place(store: Store, notice: Path, tmp_path: Path) -> None:
    source_id = str(receive_file(store, notice).source_id)
    copy = tmp_path / "copy.md"
    copy.write_bytes(notice.read_bytes())
    copy.with_name("copy.md.meta.json").write_text(json.dumps(STATED))
    assert not receive_file(store, copy).is_new
    assert receive_file(store, copy, labels=("board",)).source_id == source_id
    assert read_catalog(store).source(source_id).labels == ("board",)


@pytest.mark.parametrize("company", ["../../x", "/tmp/x", "a/b", "..", ".hidden", "-rf", "a\\b", "é" * 400])
def test_a_company_id_never_names_a_folder_outside_the_store(store: Store, notice: Path, company: str) -> None:
    notice.with_name("notice.md.meta.json").write_text(json.dumps({**STATED, "company": company}))
    source_id = str(receive_file(store, notice).source_id)
    assert "/" not in source_id and "\\" not in source_id and ".." not in source_id
    assert not source_id.startswith((".", "-")) and len(source_id.encode()) < 255


@pytest.mark.parametrize(
    "stated",
    [
        {"company": ""},
        {"company": "a\x00b"},
        {"company": "\x1b[2J"},
        {"company": "c" * 5000},
        {"company_name": "\ud800"},
        {"period": "../.."},
        {"filed": "yesterday"},
        {"filed": "20230503"},
        {"subjects": ["a\nb"]},
        {"access_labels": [" "]},
        {"title": "x" * 2_000_000},
    ],
)
def test_a_sidecar_that_states_nonsense_rejects_its_document_alone(store: Store, notice: Path, stated: dict) -> None:
    notice.with_name("notice.md.meta.json").write_text(json.dumps({**STATED, **stated}))
    assert receive_file(store, notice).code == "bad_sidecar"


@pytest.mark.parametrize("content", ["é".encode("latin-1"), b"[" * 100_000])
def test_a_sidecar_that_cannot_be_read_rejects_its_document_alone(store: Store, notice: Path, content: bytes) -> None:
    notice.with_name("notice.md.meta.json").write_bytes(content)
    assert receive_file(store, notice).code == "bad_sidecar"


def test_a_reader_that_fails_in_its_own_way_rejects_its_document_alone(
    store: Store, notice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("finrag_pipelines.ingestion.receive.parse", fail)
    receipt = receive_file(store, notice)
    assert receipt.code == "reader_failed" and "too deep" in str(receipt.message)


def test_a_file_name_that_is_no_utf_8_is_kept_with_escapes(store: Store, notice: Path) -> None:
    odd = notice.with_name("odd-\udcff.md")
    odd.write_text(NOTICE)
    odd.with_name("odd-\udcff.md.meta.json").write_text(json.dumps(STATED))
    source_id = str(receive_file(store, odd).source_id)
    assert read_catalog(store).source(source_id).received[-1].file_name == "odd-\\udcff.md"


def test_damaged_bytes_and_texts_are_restored_by_receiving_the_file_again(store: Store, notice: Path) -> None:
    source_id = str(receive_file(store, notice).source_id)
    content = read_catalog(store).source(source_id).received[-1].content_sha256
    store.path("objects", content).write_bytes(b"altered")
    (text,) = store.path("representations").glob("*/text.txt")
    whole = text.read_bytes()
    text.write_bytes(b"altered")
    assert not receive_file(store, notice).is_new
    assert store.get_object(content) == notice.read_bytes()
    assert text.read_bytes() == whole
