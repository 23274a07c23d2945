"""One figure, and what it should be."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the answer.

    `floor` and `ceiling` are what two cores should keep to; None where the figure is only told.
    """

    name: str
    value: float
    unit: str
    floor: float | None = None
    ceiling: float | None = None

    @property
    def good(self) -> bool:
        high_enough = self.floor is None or self.value >= self.floor
        low_enough = self.ceiling is None or self.value <= self.ceiling
        return high_enough and low_enough
