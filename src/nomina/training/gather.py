"""Several processes, one batch: each encodes its share of the rows, all see the vectors of all.

A metric loss compares every row of a batch with every other, so that gradients of shares, averaged, are not those of
the whole batch. Here every process gathers all vectors and computes the same loss of the whole batch; the gradient goes
on through its own rows only, and the sum over the processes is that of one process with the whole batch.

Start with ``torchrun --nproc-per-node N``; outside of it everything here leaves things as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, distributed

from nomina.training.metric import MetricLoss


def join() -> torch.device | None:
    """Meet the other processes that ``torchrun`` has started; the GPU of this one, None on a CPU or when alone."""
    if "RANK" not in os.environ or distributed.is_initialized():
        return None
    if not torch.cuda.is_available():
        distributed.init_process_group("gloo")
        return None
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", device_id=device)
    return device


def wait() -> None:
    """Until all processes are here."""
    if share()[1] > 1:
        distributed.barrier()


def leave() -> None:
    """Part from the other processes, all at once: one that goes while another still listens can end that one too."""
    if distributed.is_available() and distributed.is_initialized():
        distributed.barrier()
        distributed.destroy_process_group()


def share() -> tuple[int, int]:
    """The number of this process and how many there are: (0, 1) when alone."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


class _Gather(torch.autograd.Function):
    """All shares, one after the other; backwards the gradient of the own one."""

    @staticmethod
    def forward(context: Any, own: Tensor) -> Tensor:  # noqa: ANN401
        rank, processes = share()
        everyones = [torch.empty_like(own) for _ in range(processes)]
        distributed.all_gather(everyones, own.contiguous())
        context.own = slice(rank * len(own), (rank + 1) * len(own))
        return torch.cat(everyones)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:  # noqa: ANN401
        own: Tensor = gradient[context.own]
        return own


def gathered(own: Tensor) -> Tensor:
    """The rows of all processes (processes * n, ...), given n rows each; with the gradient of the own ones."""
    if share()[1] == 1:
        return own
    gather: Callable[[Tensor], Tensor] = _Gather.apply
    return gather(own)


def over_all(loss: MetricLoss) -> MetricLoss:
    """A metric loss of the rows of all processes."""
    return lambda vectors, labels: loss(gathered(vectors), gathered(labels))


def sum_gradients(parameters: Iterable[Tensor]) -> None:
    """Add up the gradients of all processes, in place."""
    if share()[1] == 1:
        return
    gradients = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(flat)
    for gradient, summed in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
        gradient.copy_(summed.view_as(gradient))


def the_first_says(number: float, device: torch.device) -> float:
    """The number that the first process has: clocks differ, and all must stop after the same step."""
    if share()[1] == 1:
        return number
    said = torch.tensor([number], dtype=torch.float64, device=device)
    distributed.broadcast(said, 0)
    return float(said)
