"""One builder of the code location, used by production and tests alike: tests override resources, nothing else."""

from typing import Any

from dagster import Definitions

from finrag_pipelines.defs.assets import ASSETS
from finrag_pipelines.defs.jobs import JOBS
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.defs.sensors import SENSORS


def build_defs(**resources: Any) -> Definitions:
    """Return the definitions, with `resources` in place of the defaults of the same name (`store`, `embedder`)."""
    return Definitions(
        assets=ASSETS,
        jobs=JOBS,
        sensors=SENSORS,
        resources={"store": StoreResource(), "embedder": EmbedderResource(), **resources},
    )
