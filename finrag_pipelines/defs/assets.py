"""The assets: each reads, calls one function of the pipeline, and reports counts, hashes and ranges.

No text of a document enters metadata, events or run configuration: they outlive an erasure.
"""

from collections.abc import Iterator
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    Config,
    DataVersion,
    DataVersionsByPartition,
    Failure,
    MaterializeResult,
    MetadataValue,
    TableColumn,
    TableRecord,
    TableSchema,
    asset,
    observable_source_asset,
)

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.chunking.chunk import CHUNKER
from finrag_pipelines.defs import automation
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.indexing.build import IndexCheckError
from finrag_pipelines.parsing.checks import sections_are_sane
from finrag_pipelines.parsing.parse import PARSER
from finrag_pipelines.storage import digest

OWNERS = ["team:finrag"]
REPRESENTATION_CHECKS = ("ranges_read_back", "text_is_covered", "identity_is_known")
SECTIONS_CHECK = "sections_are_sane"  # warns, and keeps nothing out


@observable_source_asset(
    partitions_def=SOURCES,
    group_name="ingestion",
    description="Bytes as received, one partition per source. The data version is the SHA-256 of the newest bytes.",
)
def source_filings(store: StoreResource) -> DataVersionsByPartition:
    """Report the content hash of every source that the catalog knows."""
    catalog = read_catalog(store.open())
    return DataVersionsByPartition(
        {source_id: source.received[-1].content_sha256 for source_id, source in sorted(catalog.sources.items())}
    )


@asset(
    deps=[source_filings],
    partitions_def=SOURCES,
    group_name="ingestion",
    kinds={"python"},
    owners=OWNERS,
    automation_condition=automation.chain_follows_its_bytes(),
    code_version="1",
    description="The newest received bytes of a source as its current version; earlier versions stay as they are.",
)
def document_versions(context: AssetExecutionContext, store: StoreResource) -> MaterializeResult:
    """Register the newest bytes of the partition's source."""
    version = pipeline.register(store.open(), context.partition_key)
    identity = version.identity
    return MaterializeResult(
        data_version=DataVersion(version.content_sha256),
        metadata={
            "version": version.version,
            "content_sha256": version.content_sha256,
            "company": identity.company or "unknown",
            "form": identity.form or "unknown",
            "period": identity.period or "unknown",
            "filed": identity.filed or "unknown",
            "object": f"objects/{version.content_sha256}",
        },
    )


@asset(
    deps=[document_versions],
    partitions_def=SOURCES,
    group_name="parsing",
    kinds={"python", "parquet"},
    owners=OWNERS,
    automation_condition=automation.goes_along_with_its_chain(),
    code_version=PARSER,
    check_specs=[
        *(AssetCheckSpec(name, asset="text_representations", blocking=True) for name in REPRESENTATION_CHECKS),
        AssetCheckSpec(SECTIONS_CHECK, asset="text_representations", description=sections_are_sane.__doc__),
    ],
    description="The canonical text of the current version with its elements, pages, sections, turns and tables.",
)
def text_representations(
    context: AssetExecutionContext, store: StoreResource
) -> Iterator[MaterializeResult | AssetCheckResult]:
    """Parse the current version of the partition's source."""
    try:
        _, representation_id, document = pipeline.represent(store.open(), context.partition_key)
    except pipeline.StageError as error:
        for name in REPRESENTATION_CHECKS:
            failed = name == error.check
            yield AssetCheckResult(
                check_name=name,
                passed=not failed,
                severity=AssetCheckSeverity.ERROR,
                description=f"{error.code}: {error}" if failed else None,
            )
        yield AssetCheckResult(
            check_name=SECTIONS_CHECK, passed=False, severity=AssetCheckSeverity.WARN, description="was not parsed"
        )
        raise _failure(error) from error
    for name in REPRESENTATION_CHECKS:
        yield AssetCheckResult(check_name=name, passed=True)
    doubts = [problem.message for problem in sections_are_sane(document)]
    yield AssetCheckResult(
        check_name=SECTIONS_CHECK,
        passed=not doubts,
        severity=AssetCheckSeverity.WARN,
        description="; ".join(doubts) or None,
        metadata={"sections": len(document.sections), "flagged": len(doubts)},
    )
    yield MaterializeResult(
        data_version=DataVersion(representation_id),
        metadata={
            "representation_id": representation_id,
            "parser": document.parser,
            "kind": document.kind.value,
            "characters": len(document.text),
            "pages": len(document.pages),
            "elements": len(document.elements),
            "tables": len(document.tables),
            "speaker_turns": len(document.turns),
            "flags": list(document.flags),
            "sections": _table(
                {
                    "key": "string",
                    "start": "int",
                    "end": "int",
                    "characters": "int",
                    "pointer": "bool",
                    "flags": "string",
                },
                [
                    {
                        "key": section.key,
                        "start": section.start,
                        "end": section.end,
                        "characters": section.end - section.start,
                        "pointer": section.pointer is not None,
                        "flags": ", ".join(section.flags),
                    }
                    for section in document.sections
                    # Other documents than filings have headings of their own as keys: text, which must not stay here.
                    if section.key.startswith(("Item", "Part", "Cover", "Signatures"))
                ],
            ),
        },
    )


@asset(
    deps=[text_representations],
    partitions_def=SOURCES,
    group_name="chunking",
    kinds={"python", "parquet"},
    owners=OWNERS,
    automation_condition=automation.goes_along_with_its_chain(),
    code_version=CHUNKER,
    check_specs=[AssetCheckSpec("text_is_in_fragments", asset="fragments", blocking=True)],
    description="Ranges of the representation inside one section or speaker turn, sized for the embedder.",
)
def fragments(context: AssetExecutionContext, store: StoreResource) -> Iterator[MaterializeResult | AssetCheckResult]:
    """Cut the current representation of the partition's source into fragments."""
    try:
        made = pipeline.fragment(store.open(), context.partition_key)
    except pipeline.StageError as error:
        yield AssetCheckResult(
            check_name="text_is_in_fragments",
            passed=error.check != "text_is_in_fragments",
            severity=AssetCheckSeverity.ERROR,
            description=f"{error.code}: {error}",
        )
        raise _failure(error) from error
    yield AssetCheckResult(check_name="text_is_in_fragments", passed=True)
    sizes = sorted(fragment.tokens for fragment in made)
    yield MaterializeResult(
        data_version=DataVersion(digest([fragment.fragment_id for fragment in made])),
        metadata={
            "fragments": len(made),
            "tokens_median": sizes[len(sizes) // 2],
            "tokens_largest": sizes[-1],
            "by_type": MetadataValue.json(_counts(fragment.representation_type for fragment in made)),
            "chunker": CHUNKER,
        },
    )


@asset(
    deps=[fragments],
    partitions_def=SOURCES,
    group_name="embedding",
    kinds={"pytorch", "parquet"},
    owners=OWNERS,
    automation_condition=automation.goes_along_with_its_chain(),
    code_version="1",
    pool="embedder",
    description="One vector per fragment, kept by the hash of the text as embedded and the digest of the model.",
)
def fragment_embeddings(
    context: AssetExecutionContext, store: StoreResource, embedder: EmbedderResource
) -> MaterializeResult:
    """Embed those fragments of the partition's source that no earlier version of it had."""
    embedded = pipeline.embed(store.open(), context.partition_key, embedder.open())
    return MaterializeResult(
        data_version=DataVersion(digest([embedded.fragment_set_id, embedded.model_digest])),
        metadata={
            "fragments": embedded.fragments,
            "embedded_now": embedded.made,
            "from_cache": embedded.fragments - embedded.made,
            "model_digest": embedded.model_digest,
        },
    )


@asset(
    deps=[fragment_embeddings],
    group_name="index",
    kinds={"python"},
    owners=OWNERS,
    code_version="1",
    automation_condition=automation.manifest_follows_its_sources(),
    description="Exactly which fragments are live, one hash over the hashes of all sources. Sources that failed are "
    "left out and listed with the reason.",
)
def corpus_manifest(store: StoreResource) -> MaterializeResult:
    """Write the manifest of all sources that are ready."""
    manifest, left_out = pipeline.build_manifest(store.open())
    return MaterializeResult(
        data_version=DataVersion(manifest.sha256),
        metadata={
            "sources": len(manifest.entries),
            "left_out": len(left_out),
            "manifest_sha256": manifest.sha256,
            "reasons": _table(
                {"source_id": "string", "reason": "string"},
                [{"source_id": source_id, "reason": reason} for source_id, reason in sorted(left_out.items())],
            ),
        },
    )


@asset(
    deps=[corpus_manifest],
    group_name="index",
    kinds={"lancedb", "rust"},
    owners=OWNERS,
    code_version="1",
    pool="duckdb_writer",
    automation_condition=automation.follows_its_inputs(),
    check_specs=[AssetCheckSpec("ids_agree", asset="search_index", blocking=True)],
    description="An immutable lexical and vector index over one manifest, built aside, checked, then published by "
    "flipping one pointer.",
)
def search_index(store: StoreResource, embedder: EmbedderResource) -> Iterator[MaterializeResult | AssetCheckResult]:
    """Build, check and publish the index version of the current manifest; the first one answers at once."""
    try:
        published = pipeline.publish_index(store.open(), embedder.open(), promote=False)
    except IndexCheckError as error:
        yield AssetCheckResult(check_name="ids_agree", passed=False, description=str(error))
        raise Failure(str(error), allow_retries=False) from error
    yield AssetCheckResult(
        check_name="ids_agree",
        passed=True,
        metadata={"manifest": published.fragments, "lexical": published.fragments, "vector": published.fragments},
    )
    yield MaterializeResult(
        data_version=DataVersion(published.index_version),
        metadata={
            "index_version": published.index_version,
            "sources": published.sources,
            "fragments": published.fragments,
            "manifest_sha256": published.manifest_sha256,
        },
    )


class Questions(Config):
    """What is asked in one run. `principal` decides what may be read; `index_version` is the current one if empty.

    `generator` is extractive, auto, ollama or openai-compatible; `model` and `base_url` say which model and server.
    """

    questions: list[str]
    principal: str = "public"
    as_of: str = ""
    index_version: str = ""
    mode: str = "hybrid"
    partial: str = "refuse"
    generator: str = "extractive"
    model: str = ""
    base_url: str = ""


@asset(
    deps=["current_index"],
    group_name="answers",
    kinds={"duckdb", "parquet"},
    owners=OWNERS,
    code_version="1",
    description="Answers and refusals of one run, each with everything behind it as evidence records in DuckDB.",
)
def answers(
    context: AssetExecutionContext, config: Questions, store: StoreResource, embedder: EmbedderResource
) -> MaterializeResult:
    """Answer the questions of the run's configuration and keep the evidence under the run's id."""
    from finrag_pipelines.answering.generators import GeneratorError
    from finrag_pipelines.answering.run import AnswerSettings, answer_and_record
    from finrag_pipelines.as_of import index_as_of

    version = config.index_version or None
    if config.as_of and not version:
        version = index_as_of(store.open(), config.as_of, embedder.open())
    settings = AnswerSettings(
        principal=config.principal,
        as_of=config.as_of or None,
        index_version=version,
        mode=config.mode,
        partial=config.partial,
        generator=config.generator,
        model=config.model,
        base_url=config.base_url,
    )
    try:
        made = answer_and_record(store.open(), embedder.open(), context.run_id, config.questions, settings)
    except GeneratorError as error:
        raise Failure(description=str(error), allow_retries=False) from error
    refused = [answer for answer in made if answer.decision == "refused"]
    return MaterializeResult(
        data_version=DataVersion(digest([answer.answer_id for answer in made])),
        metadata={
            "answered": len(made) - len(refused),
            "refused": len(refused),
            "answers": _table(
                {
                    "answer_id": "string",
                    "decision": "string",
                    "code": "string",
                    "citations": "int",
                    "gates": "string",
                },
                [
                    {
                        "answer_id": answer.answer_id,
                        "decision": answer.decision,
                        "code": answer.refusal.code if answer.refusal else "",
                        "citations": len(answer.citations),
                        "gates": " ".join(f"{gate.name}:{_VERDICTS[gate.passed]}" for gate in answer.gates),
                    }
                    for answer in made
                ],
            ),
        },
    )


_VERDICTS = {True: "pass", False: "stop", None: "recorded"}

ASSETS: list[AssetsDefinition | Any] = [
    source_filings,
    document_versions,
    text_representations,
    fragments,
    fragment_embeddings,
    corpus_manifest,
    search_index,
    answers,
]
FILING_CHAIN = [
    AssetKey(name) for name in ("document_versions", "text_representations", "fragments", "fragment_embeddings")
]


def _failure(error: pipeline.StageError) -> Failure:
    return Failure(
        f"{error}. The source stays out of the manifest until this is mended and its partition is materialized again.",
        metadata={"stage": error.stage, "code": error.code},
        allow_retries=False,
    )


def _counts(names: Iterator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _table(columns: dict[str, str], rows: list[dict[str, str | int | bool]]) -> Any:
    schema = TableSchema(columns=[TableColumn(name, kind) for name, kind in columns.items()])
    return MetadataValue.table([TableRecord(row) for row in rows], schema=schema)
