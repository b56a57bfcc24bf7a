"""One text at a time, several texts at once: how torch is kept from letting bits depend on batch or threads.

A matrix product may take another path, and round differently, when its shape or its number of threads changes. So
each text goes through the model alone, on one thread, and the machine's cores work on different texts.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from finrag_pipelines.embedding.model import Progress

Input = TypeVar("Input")
_STEP = 32


def embed_each(
    encode: Callable[[Input], np.ndarray], inputs: Sequence[Input], dimensions: int, progress: Progress | None = None
) -> np.ndarray:
    """Return the vectors that `encode` makes of each input, one row each. Uses as many cores as torch is allowed to."""
    import torch

    matrix = np.empty((len(inputs), dimensions), dtype=np.float32)
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for done, vector in enumerate(pool.map(encode, inputs), start=1):
                matrix[done - 1] = vector
                if progress is not None and (done % _STEP == 0 or done == len(inputs)):
                    progress(_STEP if done % _STEP == 0 else done % _STEP)
    finally:
        torch.set_num_threads(threads)
    return matrix
