"""One figure, and what it should be."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the answer. `floor` is what two cores should reach; None where the figure is only told."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    ceiling: float | None = None

    @property
    def good(self) -> bool:
        return (self.floor is None or self.value >= self.floor) and (self.ceiling is None or self.value <= self.ceiling)
