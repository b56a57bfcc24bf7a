"""Access by the rules in force: on every index version, at delivery and at showing, for search, answers and reading."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from finrag_pipelines import showing
from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.answering.disclosure import disclose, stream
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.generators import Generated, GenerationRequest, open_generator
from finrag_pipelines.answering.model import AnswerConfig, to_json
from finrag_pipelines.answering.replay import replay
from finrag_pipelines.answering.run import answer_and_record
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.catalog.lifecycle import grant, resume, revoke, set_labels, suspend
from finrag_pipelines.commands import list_sources, read_passage
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evidence import write_answers
from finrag_pipelines.retrieval.search import Index, open_index
from finrag_pipelines.retrieval.to_json import response_json
from finrag_pipelines.storage import Store, StoreError
from finrag_pipelines.withdrawal import publish_at_once
from finrag_pipelines_tests.erasure_corpus import Notice, ingest

OPEN, CLOSED, OTHER = Notice(0), Notice(1), Notice(5)
ANN = "ann"


@pytest.fixture(scope="module", autouse=True)
def hashing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINRAG_EMBEDDER", "hashing")
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, hashing: None) -> Path:
    """A folder with two stores: in `all` a notice that Ann alone may read stands among others, in `without` not."""
    folder = tmp_path_factory.mktemp("access")
    paths = [OPEN.write(folder / "in"), OTHER.write(folder / "in")]
    ingest(Store(folder / "without"), paths)
    grant(Store(folder / "all"), ANN, ["research"])
    ingest(Store(folder / "all"), [*paths, CLOSED.write(folder / "in", ["research"])])
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    shutil.copytree(made / "all", tmp_path / "store", ignore=shutil.ignore_patterns("*.lock"))
    return Store(tmp_path / "store")


@pytest.fixture
def without(made: Path) -> Store:
    return Store(made / "without")


def ann(store: Store) -> Principal:
    return read_catalog(store).principal(ANN)


def searched(store: Store, principal: Principal, question: str = OPEN.question, index: Index | None = None) -> Any:
    """Return what a search prints, apart from the name of the index version and times."""
    index = index or open_index(store, None, open_embedder())
    found = response_json(index.search(question, principal, k=20))
    return {**found, "trace": {**found["trace"], "index_version": "", "timings_ms": {}}}


def found(store: Store, principal: Principal, index: Index | None = None) -> set[str]:
    return {one["source_id"] for one in searched(store, principal, index=index)["results"]}


def answered(store: Store, principal: Principal, question: str = OPEN.question, **options: Any) -> Any:
    index = open_index(store, None, open_embedder())
    record = answer_question(index, store, question, principal, **options)
    return replace(record, index_version="", policy_epoch=0, timings_ms=())


@pytest.mark.parametrize("withhold", ["label", "suspend", "index"])
def test_a_withheld_source_is_as_if_it_were_not_there_before_any_index_is_built(
    store: Store, without: Store, withhold: str
) -> None:
    if withhold == "label":
        set_labels(store, CLOSED.source_id, ["public"])
        assert publish_at_once(store, open_embedder())
        set_labels(store, CLOSED.source_id, ["research"])
    if withhold == "suspend":
        set_labels(store, CLOSED.source_id, ["public"])
        assert publish_at_once(store, open_embedder())
        suspend(store, CLOSED.source_id, "hold")
    for question in (OPEN.question, CLOSED.name, "benchmark index", "What is the management fee?"):
        assert searched(store, PUBLIC_PRINCIPAL, question) == searched(without, PUBLIC_PRINCIPAL, question)
        assert answered(store, PUBLIC_PRINCIPAL, question) == answered(without, PUBLIC_PRINCIPAL, question)


def test_a_suspension_holds_on_an_opened_index_and_on_an_old_version_and_is_undone(store: Store) -> None:
    index = open_index(store, None, open_embedder())
    assert CLOSED.source_id in found(store, ann(store), index)
    suspend(store, CLOSED.source_id, "hold")
    assert CLOSED.source_id not in found(store, ann(store), index)
    published = publish_at_once(store, open_embedder())
    assert published and published.sources == 2
    old = open_index(store, index.version, open_embedder())
    assert CLOSED.source_id not in found(store, ann(store), old)
    listing = {one.source_id: (one.availability, one.reason) for one in list_sources(store).sources}
    assert listing[CLOSED.source_id] == ("suspended", "hold")
    resume(store, CLOSED.source_id)
    assert CLOSED.source_id in found(store, ann(store), old)
    published = publish_at_once(store, open_embedder())
    assert published and published.index_version == index.version


def test_an_old_version_opens_what_the_rules_opened_since(store: Store) -> None:
    index = open_index(store, None, open_embedder())
    assert CLOSED.source_id not in found(store, PUBLIC_PRINCIPAL, index)
    set_labels(store, CLOSED.source_id, ["public"])
    assert CLOSED.source_id in found(store, PUBLIC_PRINCIPAL, index)


def test_a_revoked_group_counts_for_one_who_holds_an_old_name_badge(store: Store) -> None:
    badge, index = ann(store), open_index(store, None, open_embedder())
    read_passage(store, CLOSED.source_id, badge)
    revoke(store, ANN, ["research"])
    assert CLOSED.source_id not in found(store, badge, index)
    with pytest.raises(StoreError, match="no source is called"):
        read_passage(store, CLOSED.source_id, badge)


class _Revoking:
    """A generator that answers as the extractive one, and has access revoked before or after."""

    def __init__(self, change: Callable[[], Any], before: bool) -> None:
        self._change, self._before = change, before

    def generate(self, request: GenerationRequest) -> Generated:
        if self._before:
            self._change()
        made = open_generator(AnswerConfig()).generate(request)
        if not self._before:
            self._change()
        return made


@pytest.mark.parametrize("moment", ["after retrieval", "before generation", "after generation"])
@pytest.mark.parametrize("change", ["revoke", "suspend"])
def test_what_is_withdrawn_while_an_answer_is_made_is_not_in_it(
    store: Store, moment: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    badge = ann(store)
    changes = {"revoke": lambda: revoke(store, ANN, ["research"]), "suspend": lambda: suspend(store, CLOSED.source_id)}
    options: dict[str, Any] = {}
    if moment == "after retrieval":
        search = Index.search

        def revoked_after(self: Index, *arguments: Any, **named: Any) -> Any:
            response = search(self, *arguments, **named)
            changes[change]()
            return response

        monkeypatch.setattr(Index, "search", revoked_after)
    else:
        options["model"] = _Revoking(changes[change], moment == "before generation")
    question = f"To which benchmark index does {CLOSED.name} change?"
    record = write_answers(store, "moment", [answered(store, badge, question, **options)])[0]
    assert all(word not in record.answer for word in CLOSED.canaries)
    shown = disclose(store, record, badge)
    said = str(to_json(shown)) + str(shown)
    assert CLOSED.source_id not in said and all(word not in said for word in CLOSED.canaries)


def test_what_is_withdrawn_between_two_sentences_stops_the_next(store: Store) -> None:
    record = answer_and_record(store, open_embedder(), "run", [OPEN.question], None)[0]
    assert CLOSED.source_id not in {one.source_id for one in record.citations}
    set_labels(store, CLOSED.source_id, ["public"])
    record = write_answers(store, "both", [answered(store, PUBLIC_PRINCIPAL)])[0]
    told = stream(store, record, PUBLIC_PRINCIPAL)
    first = next(told)
    suspend(store, {OPEN.source_id: CLOSED.source_id}.get(first.citations[0].source_id, OPEN.source_id))
    assert list(told) == []


def test_an_evidence_page_that_access_overtakes_is_made_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_labels(store, CLOSED.source_id, ["public"])
    record = write_answers(store, "shown", [answered(store, PUBLIC_PRINCIPAL)])[0]
    draw = showing.evidence_page

    def suspended_before(*arguments: Any) -> str:
        suspend(store, CLOSED.source_id)
        return draw(*arguments)

    monkeypatch.setattr(showing, "evidence_page", suspended_before)
    showing.write_page(store, record.answer_id, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert OPEN.canaries[1] in page
    assert CLOSED.source_id not in page and all(word not in page for word in CLOSED.canaries)


def test_a_replay_is_the_same_whatever_happened_to_sources_that_were_not_read(store: Store) -> None:
    record = answer_and_record(store, open_embedder(), "run", [OPEN.question], None)[0]
    suspend(store, CLOSED.source_id)
    publish_at_once(store, open_embedder())
    again = replay(store, record.answer_id, open_embedder())
    assert again.same
    assert [one.what for one in again.changed_circumstances] == ["policy_epoch"]


MEMO = """# Views on coverage

Prepared by Jorunn Vexelby for the credit committee.

Zorblax Quimby expects revenue of $4,711 million in the first quarter of 2026, and the risk of it is considerable.
"""


@pytest.mark.parametrize(
    "question",
    [
        f"What does the latest memo say about the dividend of {OPEN.name}?",
        "What was the revenue of Zorblax Quimby in the latest quarter?",
        "What was the revenue of Zorblax Quimby in 2019Q1?",
    ],
    ids=["author of a memo", "latest quarter", "no candidates"],
)
def test_a_record_shown_to_another_names_no_company_or_period_of_what_they_may_not_read(
    store: Store, tmp_path: Path, question: str
) -> None:
    path = tmp_path / "memo.md"
    path.write_text(MEMO)
    stated = {
        "company": "ZRBX",
        "company_name": "Zorblax Quimby",
        "form": "memo",
        "filed": "2026-05-06",
        "period": "2026Q1",
        "subjects": [OPEN.name, OPEN.company],
        "access_labels": ["research"],
    }
    path.with_name("memo.md.meta.json").write_text(json.dumps(stated))
    ingest(store, [path])
    record = write_answers(store, "ann", [answered(store, ann(store), question)])[0]
    assert "ZRBX" in {one.company for one in record.plan_pairs}
    shown = disclose(store, record, PUBLIC_PRINCIPAL)
    assert "ZRBX" not in str(to_json(shown)) + str(shown) and "2026Q1" not in str(shown)
    assert (shown.refusal_code, shown.missing, shown.gates) == ("SCOPE.uncovered", (), ())
    assert disclose(store, record, ann(store)) == record


def test_years_and_names_that_only_a_hidden_source_bears_decide_nothing(store: Store) -> None:
    seen = Documents(store).seen_by(PUBLIC_PRINCIPAL)
    assert seen.newest_year() == 2023
    assert set(seen.catalog.sources) == {OPEN.source_id, OTHER.source_id}
