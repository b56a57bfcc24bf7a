"""A language model as a generator: fit the delivery to its context, ask, prove that all was read, read the reply."""

import dataclasses

from finrag_pipelines.answering.extractive import Findings
from finrag_pipelines.answering.generators.model import (
    ChatServer,
    Completion,
    Generated,
    GenerationRequest,
    GeneratorError,
    Prompt,
    model_options,
    supports_of,
)
from finrag_pipelines.answering.generators.prompt import make_prompt
from finrag_pipelines.answering.generators.reply import read_reply
from finrag_pipelines.answering.generators.tokens import (
    estimated_tokens,
    fewest_tokens,
    first_that_fit,
    prompt_estimate,
)
from finrag_pipelines.answering.model import Delivered


class LanguageModel:
    """Drafts sentences with a model behind a server."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server

    def generate(self, request: GenerationRequest) -> Generated:
        """Return what the model drafted, or that it declined. Raises GeneratorError."""
        served = self._server.served()
        options = model_options(request.config)
        context = min(int(options["num_ctx"]), served.context or int(options["num_ctx"]))
        options["num_ctx"] = context
        delivered = fit_deliveries(request, context - int(options["num_predict"]))
        prompt = make_prompt(request.question, delivered, request.documents, len(request.pairs))
        reply = self._server.complete(prompt, options)
        assert_delivered(prompt, reply, context)
        drafts, declined = read_reply(reply.text, request, delivered)
        return Generated(
            drafts=drafts,
            generator=self._server.name,
            delivered=tuple(delivered),
            self_refusal=declined,
            prompt=prompt,
            model_digest=served.digest,
            prompt_tokens=reply.prompt_tokens,
            estimated_tokens=prompt_estimate(prompt),
            completion_tokens=reply.completion_tokens,
            options=tuple(sorted(options.items())),
        )


def fit_deliveries(request: GenerationRequest, room: int) -> list[Delivered]:
    """Return the deliveries that fit into `room` tokens, numbered from 1 in their order.

    The passages found for each pair come first, pair by pair in turn, so that a comparison does not lose a side; then
    the others in order. Raises GeneratorError where a pair's passages do not fit.
    """
    empty = make_prompt(request.question, (), request.documents, len(request.pairs))
    order = _by_need(request)
    sizes = [_size(request, one) for one in order]
    kept = {order[at].position for at in first_that_fit(sizes, room - prompt_estimate(empty))}
    needed = [positions for one in request.findings if (positions := _needed(one))]
    if not kept or any(not kept.intersection(positions) for positions in needed):
        smallest = prompt_estimate(empty) + sum(sizes[: max(1, len(needed))])
        message = (
            f"the passages need about {smallest} tokens of prompt, but the context leaves {max(0, room)}; "
            "give the model a larger context"
        )
        raise GeneratorError("truncated_prompt", message)
    fitting = [one for one in request.delivered if one.position in kept]
    return [dataclasses.replace(one, position=at) for at, one in enumerate(fitting, start=1)]


def _size(request: GenerationRequest, one: Delivered) -> int:
    return estimated_tokens(make_prompt("", (one,), request.documents).user)


def _needed(finding: Findings) -> list[int]:
    """Return the positions of the fragments that hold what was found for a pair, the best first."""
    return list(dict.fromkeys(one.delivered.position for one in supports_of(finding)))


def _by_need(request: GenerationRequest) -> list[Delivered]:
    columns = [_needed(one) for one in request.findings]
    rounds = max((len(one) for one in columns), default=0)
    turns = [column[at] for at in range(rounds) for column in columns if at < len(column)]
    ordered = dict.fromkeys([*turns, *(one.position for one in request.delivered)])
    by_position = {one.position: one for one in request.delivered}
    return [by_position[at] for at in ordered if at in by_position]


def assert_delivered(prompt: Prompt, reply: Completion, context: int) -> None:
    """Raise GeneratorError where the server's count shows that it cut the prompt: what was cut was not delivered."""
    counted, fewest = reply.prompt_tokens, fewest_tokens(prompt)
    if counted is None:
        return  # the prompt was made to fit by an estimate from above
    if counted < fewest:
        message = f"the server read {counted} tokens of a prompt that has at least {fewest}"
    elif counted >= context:
        message = f"the server read {counted} tokens, which fills its context of {context}"
    else:
        return
    advice = "it was cut, so it was not delivered; give the server a larger context"
    raise GeneratorError("truncated_prompt", f"{message}: {advice}")
