"""A torch network as an encoder: its natural read-out, and every part inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, get_args

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers.abilities import Answers, Dtype, LayerInfo, Tap, Wants
from fechner.observers.devices import check_device, is_out_of_memory
from fechner.observers.function_observers import FunctionObserver, stacked, usable_output
from fechner.observers.inputs import (
    NONE,
    Normalisation,
    NormalisationName,
    grey,
    normalisation,
    prepared,
    what_was_raised,
)
from fechner.observers.questions import Answer, Question, Reads
from fechner.observers.taps import OUTPUT, every_layer, full_precision, natural_stages, tapped
from fechner.observers.weights import hash_weights
from fechner.stimuli import Clips, Frames


class LoadOptions(NamedTuple):
    """How the observer that answers is made; ``see`` returns the encoder of the same model."""

    name: str
    device: str
    dtype: Dtype
    see: Callable[[], NetworkEncoder]


@dataclass(frozen=True)
class Network:
    """What must be known to look through a network's eyes; adapters return this.

    Parameters
    ----------
    module
        The part of the model that sees; None if it is loaded ``later``, or if there is none.
    call
        Takes normalised pictures, [n, 3, h, w], and returns the natural read-out, [n, ...]; the
        module itself if None.
    size_px, normalise
        Its own input size, None for any, and its own normalisation of pictures in 0..1.
    library, settings
        Name and version of what loaded it, and whatever else its answers depend on.
    stages
        Names of the modules after which it is looked into; found by rule if None.
    classify, classes
        Takes normalised pictures and returns class scores, [n, classes]; names of the classes.
    weights_id
        A hash of its weights; computed if None.
    unsure
        What had to be guessed, for people, as long as its own normalisation is used.
    answering
        Makes the observer that answers questions with it, of models that read words as well.
    later
        Loads the part that sees, of models so large that it is only done if it is looked through.
    known
        Arguments that it takes beside pictures, of those that are known.
    """

    module: torch.nn.Module | None
    call: Callable[..., Any] | None = None
    size_px: tuple[int, int] | None = None
    normalise: Normalisation = NONE
    library: str = ""
    settings: str = ""
    stages: tuple[str, ...] | None = None
    classify: Callable[..., Any] | None = None
    classes: tuple[str, ...] = ()
    weights_id: str | None = None
    unsure: str = ""
    answering: Callable[[LoadOptions], Answers] | None = None
    later: Callable[[], Network] | None = None
    known: tuple[str, ...] = ()


class NetworkEncoder(FunctionObserver):
    """A network that encodes; any of its parts can be tapped in one forward pass."""

    def __init__(
        self, network: Network, *, name: str, wants: Wants, fingerprint: str | None = None
    ) -> None:
        assert network.module is not None
        self.network = network
        self.module = network.module
        super().__init__(
            network.call or network.module,
            name=name,
            wants=wants,
            normalise=network.normalise,
            known=network.known,
        )
        self.fingerprint = fingerprint
        self.classes = network.classes
        self.is_your_own = not network.library

    @cached_property
    def layers(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the natural stages, in order; the last is what the network hands on."""
        stages = self.network.stages
        if stages is None:
            stages = natural_stages(self.module)
        if not stages:
            return (OUTPUT,)
        return (*(layer.name for layer in self._layers.values() if layer.module in stages), OUTPUT)

    def every_layer(self) -> Sequence[LayerInfo]:
        """List all parts that can be tapped, in order, without the output."""
        return tuple(self._layers.values())

    @cached_property
    def _layers(self) -> dict[str, LayerInfo]:
        device = next(self.module.parameters(), torch.empty(0)).device

        def look(n: int) -> None:
            self.call(self._function, grey(self.wants, n, device))

        try:
            with torch.no_grad():
                found = every_layer(self.module, look, batched=self.wants.batched)
        except FechnerError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                return {}  # two pictures are too many to find out what is inside
            wants = self.wants if self.is_your_own else None
            raise ObserverError(what_was_raised(error, wants)) from error
        return {layer.name: layer for layer in found}

    def features(self, frames: Frames | Clips, taps: Mapping[str, Tap]) -> None:
        """Look once; every tap is called with its layer's activations."""
        inside = [name for name in taps if name != OUTPUT]
        for name in inside:
            if name not in self._layers:
                how = f"`fechner layers {self.name}` lists them"
                raise UnknownNameError("layer", name, self._layers, how)
        layers = [self._layers[name] for name in inside]
        pictures, known = self.prepared(frames), self.known(frames)
        if self.wants.batched:
            with tapped(self.module, taps, layers, len(frames)):
                output = self._function(pictures, **known)
            if OUTPUT in taps:
                taps[OUTPUT](full_precision(usable_output(output, len(frames), self.name)))
            return
        seen: dict[str, list[Tensor]] = {name: [] for name in taps}
        # Copies: what follows in the network may write over them.
        keeping = {name: lambda a, rows=rows: rows.append(a.clone()) for name, rows in seen.items()}
        for picture in pictures:
            with tapped(self.module, keeping, layers, 1):
                output = stacked([self._function(picture, **known)])
            if OUTPUT in taps:
                keeping[OUTPUT](full_precision(usable_output(output, 1, self.name)))
        for name, tap in taps.items():
            tap(torch.cat(seen[name]))

    def prepared(self, frames: Frames | Clips) -> Any:
        """Return pictures as the network takes them: normalised, in its own precision."""
        own = (p.dtype for p in self.module.parameters() if p.is_floating_point())
        return prepared(frames, self.wants, self._normalise, next(own, None))


class NetworkClassifier(NetworkEncoder):
    """A network that also recognises."""

    def class_scores(self, frames: Frames) -> Tensor:
        """Return scores, [n, classes]."""
        assert self.network.classify is not None
        scores = self.call(self.network.classify, frames)
        return full_precision(usable_output(scores, len(frames), self.name))


def _loaded(name: str, observer: Any) -> Any:
    """Load the encoder of an observer when one of its attributes is first looked at."""
    vars(observer).update({**vars(observer._see()), **vars(observer)})
    return vars(observer)[name]


class NetworkThatAnswers(NetworkEncoder):
    """A network that encodes and also answers; what is not asked of it is not loaded.

    Its layers, and what it wants, are those of the encoder; `answerer` has its own.
    """

    network: Any = cached_property(partial(_loaded, "network"))
    module: Any = cached_property(partial(_loaded, "module"))
    wants: Any = cached_property(partial(_loaded, "wants"))
    settings: Any = cached_property(partial(_loaded, "settings"))
    fingerprint: Any = cached_property(partial(_loaded, "fingerprint"))
    is_your_own: Any = cached_property(partial(_loaded, "is_your_own"))
    _function: Any = cached_property(partial(_loaded, "_function"))
    _normalise: Any = cached_property(partial(_loaded, "_normalise"))
    _known: Any = cached_property(partial(_loaded, "_known"))

    def __init__(
        self, name: str, see: Callable[[], NetworkEncoder], answer: Callable[[], Answers]
    ) -> None:
        self.name = name
        self._see = see
        self._answer = answer

    @cached_property
    def answerer(self) -> Answers:
        """Who answers: the same model, with what that takes and depends on."""
        return self._answer()

    @property
    def reads(self) -> Reads:
        """What it makes of words."""
        return self.answerer.reads

    @property
    def readouts(self) -> Sequence[str]:
        """Names of the ways in which it can be asked."""
        return self.answerer.readouts

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Answer each question about its pictures, as `answerer` wants them."""
        return self.answerer.choose(frames, questions)


def check_dtype(name: str) -> None:
    """Say what is wrong with the name of a precision."""
    known = get_args(Dtype)
    if name not in known:
        raise UnknownNameError("dtype", name, known, f"there are {', '.join(known)}")


def encoder(
    network: Network,
    *,
    name: str,
    device: str = "cpu",
    normalise: NormalisationName = "own",
    dtype: Dtype = "float32",
) -> NetworkEncoder | Answers:
    """Make an observer of a network that an adapter loaded.

    Models that read words as well both encode and answer; those without a part that sees by itself
    answer only.

    Parameters
    ----------
    normalise
        ``own``, ``none``, ``imagenet``, ``clip`` or ``half``.
    dtype
        Precision of the network; differences near threshold need float32.
    """
    check_dtype(dtype)
    normalisation(normalise, NONE)  # which says what is wrong with it now, not when it is used
    device = check_device(device)

    @cache
    def see() -> NetworkEncoder:
        seen = network.later() if network.later else network
        assert seen.module is not None
        if dtype in ("bfloat16", "float16") and next(seen.module.parameters(), None) is None:
            raise ObserverError(
                f"the precision of '{name}' is fixed in its file; leave --dtype out."
            )
        weights = seen.weights_id or hash_weights(seen.module)
        seen.module.to(device=device, dtype=getattr(torch, dtype)).eval()
        if normalise != "own":
            seen = replace(seen, normalise=normalisation(normalise, NONE), unsure="")
        wants = Wants(size_px=seen.size_px, dtype="float64" if dtype == "float64" else "float32")
        fingerprint = (
            f"{name} {seen.library} {seen.settings} weights={weights} {wants} {seen.normalise} "
            f"{dtype}"
        )
        kind = NetworkEncoder if seen.classify is None else NetworkClassifier
        return kind(seen, name=name, wants=wants, fingerprint=fingerprint)

    if network.answering is None:
        return see()
    answer = partial(network.answering, LoadOptions(name, device, dtype, see))
    if network.module is None and network.later is None:
        return answer()
    if network.module is not None:
        see()
    return NetworkThatAnswers(name, see, answer)


def head_of(module: torch.nn.Module, look: Callable[[], object], classes: int) -> str | None:
    """Return the name of the part that makes the class scores, None if none is found.

    It is the last linear layer or convolution in a pass, if it makes a score for every class and is
    called once. ``look`` makes the module look at a picture.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> head_of(model, lambda: model(torch.zeros(1, 3)), classes=2)
    '2'
    """
    kinds = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
    parts = {name: part for name, part in module.named_modules() if isinstance(part, kinds)}
    called: list[str] = []
    with ExitStack() as hooks:
        for name, part in parts.items():
            # Appends the name; the part and its arguments do not matter.
            hook = partial(lambda name, *given: called.append(name), name)
            hooks.enter_context(part.register_forward_pre_hook(hook))
        look()
    if not called or not called[-1] or called.count(called[-1]) > 1:
        return None
    last = parts[called[-1]]
    made = last.out_features if isinstance(last, torch.nn.Linear) else last.out_channels
    return called[-1] if made == classes else None


def before_head(module: torch.nn.Module, head: str) -> Callable[..., Tensor]:
    """Return a function of pictures that gives what goes into the named part of a classifier."""

    def call(pictures: Tensor, **known: Any) -> Tensor:
        seen: list[Tensor] = []

        def hook(part: torch.nn.Module, arguments: tuple[Tensor, ...]) -> None:
            seen.append(arguments[0].clone())  # some heads write over it

        with module.get_submodule(head).register_forward_pre_hook(hook):
            module(pictures, **known)
        if not seen:
            raise ObserverError(f"{type(module).__name__} did not reach its head '{head}'.")
        return seen[-1]

    return call
