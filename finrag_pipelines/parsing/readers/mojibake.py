"""UTF-8 that was once read as Windows-1252 or Latin-1 and saved again: put right, and nothing else touched.

Only sequences that cannot be anything else are undone: `â€™`, `Ã©`, `Â®`, their Latin-1 forms with invisible control
characters, and the same mistake made twice or three times. Length changes, so this runs before any offset is taken.
"""

import re

_MAX_ROUNDS = 3


def _bytes_by_character() -> dict[str, int]:
    """Return the byte that each character stands for, in either of the two encodings."""
    table = {chr(byte): byte for byte in range(0x80, 0x100)}
    for byte in range(0x80, 0xA0):
        character = bytes([byte]).decode("cp1252", errors="ignore")
        if character:
            table[character] = byte
    return table


_BYTES = _bytes_by_character()


def _one_of(low: int, high: int) -> str:
    return "[" + "".join(re.escape(character) for character, byte in _BYTES.items() if low <= byte <= high) + "]"


_TAIL = _one_of(0x80, 0xBF)
# Two bytes only behind Â and Ã: other capitals stand before ’ or ® in honest text (NESTLÉ®). Three bytes behind â and
# ï; behind ã to é, where Chinese begins, only several in a row. Four bytes behind ð.
_BROKEN = re.compile(
    rf"[ÂÃ]{_TAIL}|[âï]{_TAIL}{_TAIL}|(?:[ã-é]{_TAIL}{_TAIL}){{2,}}|ð{_TAIL}{_TAIL}{_TAIL}",
)


def _undone(match: re.Match[str]) -> str:
    try:
        return bytes(_BYTES[character] for character in match[0]).decode("utf-8")
    except UnicodeDecodeError:
        return match[0]


def repair_mojibake(text: str) -> str:
    """Return `text` with wrongly decoded UTF-8 put right; other text comes back unchanged."""
    if text.isascii():
        return text
    for _ in range(_MAX_ROUNDS):
        repaired = _BROKEN.sub(_undone, text)
        if repaired == text:
            break
        text = repaired
    return text
