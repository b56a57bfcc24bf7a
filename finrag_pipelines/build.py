"""One builder of the code location, used by production and tests alike: tests override resources, nothing else."""

from typing import Any

from dagster import Definitions, in_process_executor

from finrag_pipelines.defs.assets import ASSETS
from finrag_pipelines.defs.evaluation import EVALUATION_ASSETS, EVALUATION_JOBS, EVALUATION_SCHEDULES
from finrag_pipelines.defs.jobs import JOBS
from finrag_pipelines.defs.lifecycle import LIFECYCLE_JOBS, LIFECYCLE_SCHEDULES
from finrag_pipelines.defs.promotion import PROMOTION_ASSETS, PROMOTION_JOBS
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.defs.schedules import SCHEDULES
from finrag_pipelines.defs.sensors import SENSORS


def build_defs(**resources: Any) -> Definitions:
    """Return the definitions, with `resources` in place of the defaults of the same name (`store`, `embedder`)."""
    return Definitions(
        assets=[*ASSETS, *PROMOTION_ASSETS, *EVALUATION_ASSETS],
        jobs=[*JOBS, *PROMOTION_JOBS, *EVALUATION_JOBS, *LIFECYCLE_JOBS],
        sensors=SENSORS,
        schedules=[*SCHEDULES, *EVALUATION_SCHEDULES, *LIFECYCLE_SCHEDULES],
        # A process per step would load the model and the libraries anew in each: seconds for work of milliseconds.
        executor=in_process_executor,
        resources={"store": StoreResource(), "embedder": EmbedderResource(), **resources},
    )
