"""What verification says: a difference between what is stored and what was recorded."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Difference:
    """Something that is not as recorded: in which answer (empty for the chain as a whole), where, and what."""

    answer_id: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.answer_id or 'store'}: {self.where}: {self.what}"
