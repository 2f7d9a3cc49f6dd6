"""The digits' perceptron, 64-128-64-32-10, in two pipeline stages of two layers each, which tensor parallel ranks share."""
import torch
import torch.distributed as dist
from torch.nn import functional

from torch_support import parallel_state

WIDTHS = [(64, 128, 64), (64, 32, 10)]  # of each stage: what comes in, between its two layers, and goes out


class _Scatter(torch.autograd.Function):
    """Each tensor parallel rank has the whole input, and a part of its gradient."""

    @staticmethod
    def forward(_, x):
        return x

    @staticmethod
    def backward(_, gradient):
        return _sum_over(parallel_state.tensor(), gradient)


class _Gather(torch.autograd.Function):
    """Each tensor parallel rank has a part of the sum, and its whole gradient."""

    @staticmethod
    def forward(_, x):
        return _sum_over(parallel_state.tensor(), x)

    @staticmethod
    def backward(_, gradient):
        return gradient


def _sum_over(axis, tensor):
    total = tensor.clone()
    dist.all_reduce(total, group=axis.group)
    return total


def mean_over_data_parallel(tensor):
    return _sum_over(parallel_state.data(), tensor) / parallel_state.data().size


class Stage(torch.nn.Module):
    """This rank's part: some columns of the stage's first layer and the same rows of its second."""

    def __init__(self, seed):
        super().__init__()
        inputs, between, outputs = WIDTHS[parallel_state.pipeline().rank]
        share = between // parallel_state.tensor().size
        mine = slice(parallel_state.tensor().rank * share, (parallel_state.tensor().rank + 1) * share)
        random = torch.Generator().manual_seed(seed + parallel_state.pipeline().rank)
        columns = torch.randn(between, inputs, generator=random) * (2 / inputs) ** 0.5
        rows = torch.randn(outputs, between, generator=random) * (2 / between) ** 0.5
        self.columns = torch.nn.Parameter(columns[mine].clone())
        self.rows = torch.nn.Parameter(rows[:, mine].clone())
        self.bias = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        hidden = functional.relu(functional.linear(_Scatter.apply(x), self.columns))
        out = _Gather.apply(functional.linear(hidden, self.rows)) + self.bias
        return out if parallel_state.is_last_stage() else functional.relu(out)


def forward(stage, pixels):
    """(what the stage was given, what it made of it); on the last stage that is the logits."""
    rank = parallel_state.pipeline().rank
    peers = parallel_state.pipeline().ranks
    given = pixels
    if not parallel_state.is_first_stage():
        given = torch.empty(len(pixels), WIDTHS[rank][0])
        dist.recv(given, peers[rank - 1])
        given.requires_grad_(torch.is_grad_enabled())
    made = stage(given)
    if not parallel_state.is_last_stage():
        dist.send(made.detach(), peers[rank + 1])
    return given, made


def backward(given, made, loss=None):
    """Goes backward from the loss, which the last stage has, or from the gradient that the next stage sends."""
    rank = parallel_state.pipeline().rank
    peers = parallel_state.pipeline().ranks
    if loss is not None:
        loss.backward()
    else:
        gradient = torch.empty_like(made)
        dist.recv(gradient, peers[rank + 1])
        made.backward(gradient)
    if not parallel_state.is_first_stage():
        dist.send(given.grad, peers[rank - 1])


def learn(stage, optimizer):
    """Updates the parameters along the gradient's mean over the data parallel ranks."""
    for parameter in stage.parameters():
        parameter.grad = mean_over_data_parallel(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
