"""Kernels as operators of torch, so that a model runs on the CPU with them inside: ``pto.torch.op(kernel, …)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from ptokit.diagnostics import UsageError
from ptokit.lang.kernels import Kernel, Launcher
from ptokit.types.values import Ptr, Scalar

Given = Callable[..., Any]
"""A function of arguments of the operator, which it names as the kernel does: ``lambda x: x.shape[0]``."""


def op(
    kernel: Kernel | Launcher,
    *,
    outputs: Mapping[str, str | Given],
    numbers: Mapping[str, Any] | None = None,
    blocks: int | Given = 1,
    name: str | None = None,
    backward: Callable[..., Any] | None = None,
    setup_context: Callable[..., None] | None = None,
) -> Any:
    """Register a kernel with `torch.library`, and return the operator.

    ``outputs``: the parameters that are results. Each is made like another one (``"x"``), or by a function of the
    arguments, ``lambda a, b: a.new_empty(a.shape[0], b.shape[1])``: this is the shape function, too, by which
    `torch.compile` and `torch.export` follow the operator. ``numbers``: parameters that callers need not give, values
    or functions, ``{"n": lambda x: x.shape[0]}``. ``blocks``: of a launch, a number or a function; by default that of
    ``kernel[blocks]``. The other parameters are the arguments, in their order, without those of `pto.Static` that have
    defaults. ``name``: "namespace::name", by default that of the kernel in ``ptokit``.

    Inputs that are not contiguous are copied. Kernels have no derivatives: where a gradient is asked for, the operator
    raises, unless ``backward`` (and ``setup_context``, as of `torch.library.register_autograd`) say what it is.
    Raises `UsageError` for names that the kernel does not have.
    """
    launched: Kernel = kernel.kernel if isinstance(kernel, Launcher) else kernel
    if isinstance(kernel, Launcher) and blocks == 1:
        blocks = kernel.blocks
    made = _Operator(launched, dict(outputs), dict(numbers or {}), blocks)
    torch = _torch()
    registered = torch.library.custom_op(
        name or f"ptokit::{launched.name}", made.run, mutates_args=(), device_types="cpu", schema=made.schema
    )
    registered.register_fake(made.fake)
    refused = (
        f"kernel {launched.name} has no derivative; give torch.op(…, backward=…) one, or compute under torch.no_grad()"
    )

    def refuse(*_: Any) -> None:
        raise RuntimeError(refused)

    registered.register_autograd(backward or refuse, setup_context=setup_context)
    return registered


def _torch() -> Any:
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("ptokit.torch.op needs torch: pip install ptokit[torch]", name="torch") from error


class _Operator:
    """What is registered: a schema, what runs, and what the shapes are."""

    def __init__(self, kernel: Kernel, outputs: dict[str, Any], numbers: dict[str, Any], blocks: Any) -> None:
        self.kernel, self.outputs, self.numbers, self.blocks = kernel, outputs, numbers, blocks
        parameters = kernel.parameters
        for kind, names in (("outputs", outputs), ("numbers", numbers)):
            unknown = [n for n in names if n not in parameters.kinds]
            if unknown:
                raise UsageError(f"{kernel.name} has no parameter {', '.join(unknown)}; it is {kernel!r}.", kind)
        if not outputs:
            raise UsageError("an operator has an output.", "outputs")
        optional = {
            n
            for n, p in parameters.signature.parameters.items()
            if parameters.is_static(n) and p.default is not p.empty
        }
        self.names = [n for n in parameters.kinds if n not in outputs and n not in numbers and n not in optional]
        for called in (*outputs.values(), *numbers.values(), blocks):
            needs = [called] if isinstance(called, str) else _asks(called) if callable(called) else []
            unknown = [n for n in needs if n not in self.names]
            if unknown:
                message = (
                    f"{', '.join(unknown)} is no argument of the operator; it has {', '.join(self.names) or 'none'}."
                )
                raise UsageError(message, "outputs")
        taken = ", ".join(f"{self._kind(n)} {n}" for n in self.names)
        gives = ", ".join(["Tensor"] * len(outputs))
        self.schema = f"({taken}) -> {gives if len(outputs) == 1 else f'({gives})'}"

    def _kind(self, name: str) -> str:
        kind = self.kernel.parameters.kinds[name]
        if isinstance(kind, Scalar):
            return "float" if kind.is_float else "SymInt"
        if self.kernel.parameters.is_static(name):
            return "int"
        if kind is not None and not isinstance(kind, Ptr):
            raise UsageError(f"{name} of {self.kernel.name} is neither an array nor a number.", "kernel")
        return "Tensor"

    def _made(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs, with nothing in them yet."""
        torch = _torch()
        like = partial(torch.empty_like, memory_format=torch.contiguous_format)
        made = self.outputs.items()
        return {name: like(given[how]) if isinstance(how, str) else _called(how, given) for name, how in made}

    def run(self, *args: Any) -> Any:
        """Launch the kernel on new outputs."""
        given = dict(zip(self.names, args, strict=True))
        made = self._made(given)
        tensors = _torch().Tensor
        values = {n: v.detach().contiguous() if isinstance(v, tensors) else v for n, v in given.items()}
        more = {n: _called(v, given) if callable(v) else v for n, v in self.numbers.items()}
        blocks = _called(self.blocks, given) if callable(self.blocks) else self.blocks
        self.kernel[blocks](**values, **more, **made)
        return self._returned(made)

    def fake(self, *args: Any) -> Any:
        """Outputs of the right shapes."""
        return self._returned(self._made(dict(zip(self.names, args, strict=True))))

    def _returned(self, made: Mapping[str, Any]) -> Any:
        found: Sequence[Any] = tuple(made.values())
        return found[0] if len(found) == 1 else found


def _asks(function: Given) -> list[str]:
    return list(inspect.signature(function).parameters)


def _called(function: Given, given: Mapping[str, Any]) -> Any:
    return function(*[given[name] for name in _asks(function)])


__all__ = ["op"]
