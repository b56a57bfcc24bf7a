"""A Word document written part by part, stored without compression and with fixed times: same input, same bytes."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from .layout import Block

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WML = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_STYLE_OF = {"title": "Title", "part": "Heading1", "item": "Heading1", "sub": "Heading2", "bullet": "ListBullet"}

_CONTENT_TYPES = (
    f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_WML}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{_WML}.styles+xml"/>'
    f'<Override PartName="/word/header1.xml" ContentType="{_WML}.header+xml"/>'
    '<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>'
    "</Types>"
)
_RELS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
    f'<Relationship Id="rId2" Type="{_PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/>'
    "</Relationships>"
)
_DOCUMENT_RELS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/header" Target="header1.xml"/>'
    "</Relationships>"
)


def _styles() -> str:
    names = (
        ("Normal", "Normal", 22, False),
        ("Title", "Title", 34, True),
        ("Heading1", "heading 1", 28, True),
        ("Heading2", "heading 2", 24, True),
        ("ListBullet", "List Bullet", 22, False),
    )
    styles = "".join(
        f'<w:style w:type="paragraph"{" w:default=" + chr(34) + "1" + chr(34) if key == "Normal" else ""} '
        f'w:styleId="{key}"><w:name w:val="{name}"/>'
        f'<w:pPr><w:spacing w:after="120"/></w:pPr><w:rPr>{"<w:b/>" if bold else ""}<w:sz w:val="{size}"/></w:rPr>'
        "</w:style>"
        for key, name, size, bold in names
    )
    return f"<w:styles {_W}>{styles}</w:styles>"


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def _paragraph(block: Block) -> str:
    style = _STYLE_OF.get(block.kind)
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{_run(block.text)}</w:p>"


def write_docx(path: Path, title: str, author: str, written: str, header: str, body: Sequence[Block]) -> None:
    """Write a document. `written` is the ISO date that its properties carry."""
    core = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{escape(title)}</dc:title><dc:creator>{escape(author)}</dc:creator>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{written}T09:00:00Z</dcterms:created>'
        f'<dcterms:modified xsi:type="dcterms:W3CDTF">{written}T09:00:00Z</dcterms:modified></cp:coreProperties>'
    )
    document = (
        f"<w:document {_W} {_R}><w:body>{''.join(_paragraph(b) for b in body)}"
        '<w:sectPr><w:headerReference w:type="default" r:id="rId2"/><w:pgSz w:w="12240" w:h="15840"/></w:sectPr>'
        "</w:body></w:document>"
    )
    parts = {
        "[Content_Types].xml": _CONTENT_TYPES,
        "_rels/.rels": _RELS,
        "docProps/core.xml": core,
        "word/document.xml": document,
        "word/_rels/document.xml.rels": _DOCUMENT_RELS,
        "word/header1.xml": f"<w:hdr {_W}><w:p>{_run(header)}</w:p></w:hdr>",
        "word/styles.xml": _styles(),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, xml in parts.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            archive.writestr(entry, _XML + xml)
