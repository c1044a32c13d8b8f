"""One row of the table of metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric. `part` and `field`: where its number comes from, but for histograms."""

    name: str
    kind: MetricKind
    help: str
    part: str = ""
    field: str = ""
    labels: Mapping[str, str] | None = None  # fixed ones: rows of one name differ in them
    by: str = ""  # the field holds a number for each value of this label
    among: Sequence[str] = ()  # its values, shown even while they are 0
    by_all: Sequence[str] = ()  # a number for each tuple of values of these, once there is one
    buckets: Sequence[float] = ()

    def __post_init__(self) -> None:
        assert self.name.startswith("holdfast_"), self.name
        assert (self.kind is MetricKind.COUNTER) == self.name.endswith("_total"), self.name
        assert (self.kind is MetricKind.HISTOGRAM) == bool(self.buckets), self.name
        assert (self.kind is MetricKind.HISTOGRAM) != bool(self.part and self.field), self.name
        assert bool(self.by) == bool(self.among), self.name
        assert not (self.by and self.by_all), self.name

    @property
    def label_names(self) -> tuple[str, ...]:
        return (*(self.labels or ()), *((self.by,) if self.by else self.by_all))
