"""The Dagster layer, and the only folder that imports dagster: it calls the stages and reports what they did.

`from __future__ import annotations` must not be used here: Dagster reads the annotations of decorated functions.
"""

import warnings

from dagster import BetaWarning

# Observable source assets have been in beta for years; a pin on dagster guards us, not a warning at every command.
warnings.filterwarnings("ignore", category=BetaWarning)
