#!/usr/bin/env python3
"""Samples the operators of a training step on one GPU, and collectives on several, for Collectune.

It needs PyTorch and nothing else. Operators, in about a minute:
    python sample.py
Collectives, once for each number of nodes and of GPUs a node that a run uses:
    torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint HOST:29500 sample.py
It writes samples/operator/GPU_OPERATOR_PRECISION.csv and samples/nccl/GPU_COLLECTIVE_PRECISION_NODES_GPUS.csv: give
the folder. Times are medians in microseconds.
"""
import argparse
import csv
import itertools
import math
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

# Points of operators, in the order of their inputs; without any, those of usual models are sampled.
WANTED = {}

VOCABULARY = 50257
USUAL = {
    "mp": [1, 2, 4, 8], "b": [1, 2, 4, 8], "l": [1024, 2048, 4096], "width": [(2048, 16), (4096, 32), (8192, 64)],
    "encoders": [1, 2, 4, 8], "kv_heads": [8], "experts": [8], "top_k": [2], "ep": [1, 2, 4, 8],
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", choices=["bf16", "fp16"], default="bf16")
    parser.add_argument("--operators", help="only these, with commas between them")
    parser.add_argument("--out", default="samples", help="the folder that is written")
    parser.add_argument("--device", default="cuda", help="cpu tries the script itself out")
    return parser.parse_args()


ARGUMENTS = parse()
DTYPE = {"bf16": torch.bfloat16, "fp16": torch.float16}[ARGUMENTS.precision]
RANK, RANKS, LOCAL = (int(os.environ.get(name, usual)) for name, usual in [("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0)])
IS_GPU = ARGUMENTS.device == "cuda"
DEVICE = torch.device("cuda", LOCAL) if IS_GPU else torch.device("cpu")


def normal(*shape):
    return torch.randn(*shape, device=DEVICE, dtype=DTYPE).requires_grad_()


def words(count, number):
    return torch.randint(number, (count,), device=DEVICE)


def vocabulary(mp):
    return math.ceil(VOCABULARY / (128 * mp)) * 128


def linear(rows, inner, outer):
    return F.linear, [normal(rows, inner), normal(outer, inner)]


def rms_norm(b, l, dim):
    if hasattr(F, "rms_norm"):
        return lambda x, weight: F.rms_norm(x, (dim,), weight), [normal(b, l, dim), normal(dim)]
    norm = lambda x, weight: x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5).to(x.dtype) * weight
    return norm, [normal(b, l, dim), normal(dim)]


def embedding(mp, b, l, dim):
    ids = words(b * l, vocabulary(mp))
    return lambda weight: F.embedding(ids, weight), [normal(vocabulary(mp), dim)]


def rope(mp, b, h, l, dim):
    width = dim // h
    cos, sin = normal(l, 1, 1, width).detach(), normal(l, 1, 1, width).detach()

    def rotate(x):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    return rotate, [normal(l, b, h // mp, width)]


def attention(mp, b, h, l, dim):
    heads = [normal(b, h // mp, l, dim // h) for _ in range(3)]
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), heads


def scores(mp, b, h, l, dim):
    width = dim // h
    empty = torch.empty(b * (h // mp), l, l, device=DEVICE, dtype=DTYPE)
    product = lambda q, k: torch.baddbmm(empty, q, k.transpose(1, 2), beta=0.0, alpha=width**-0.5)
    return product, [normal(b * (h // mp), l, width), normal(b * (h // mp), l, width)]


def mask(mp, b, h, l, dim):
    hidden = torch.ones(l, l, device=DEVICE, dtype=torch.bool).triu(1)
    return lambda x: x.masked_fill(hidden, -10000.0), [normal(b, h // mp, l, l)]


def loss(mp, b, l):
    ids = words(b * l, vocabulary(mp))
    return lambda x: F.cross_entropy(x.float(), ids), [normal(b * l, vocabulary(mp))]


def swiglu(rows, width):
    def gate(x):
        first, second = x.chunk(2, -1)
        return F.silu(first) * second

    return gate, [normal(rows, 2 * width)]


def experts(b, l, inner, outer, number, top_k, ep):
    rows = math.ceil(b * l * top_k * ep / number)
    return torch.bmm, [normal(number // ep, rows, inner), normal(number // ep, inner, outer)]


def add(b, l, dim):
    # Backward, the gradients of both branches are added.
    return torch.add, [normal(b, l, dim), normal(b, l, dim)]


# The inputs of each operator, and what makes its function and arguments of them.
OPERATORS = {
    "embedding": (["mp", "b", "l", "dim"], embedding),
    "layernorm": (["b", "l", "dim"], lambda b, l, dim: (lambda x, w, o: F.layer_norm(x, (dim,), w, o), [normal(b, l, dim), normal(dim), normal(dim)])),
    "RMSlayernorm": (["b", "l", "dim"], rms_norm),
    "res_add": (["b", "l", "dim"], add),
    "linear1": (["mp", "b", "l", "dim"], lambda mp, b, l, dim: linear(l * b, dim, 3 * dim // mp)),
    "linear2": (["mp", "b", "l", "dim"], lambda mp, b, l, dim: linear(l * b, dim // mp, dim)),
    "linear3": (["mp", "b", "l", "dim"], lambda mp, b, l, dim: linear(l * b, dim, 4 * dim // mp)),
    "linear4": (["mp", "b", "l", "dim"], lambda mp, b, l, dim: linear(l * b, 4 * dim // mp, dim)),
    "linear_final": (["mp", "b", "l", "dim"], lambda mp, b, l, dim: linear(l * b, dim, vocabulary(mp))),
    "gelu": (["mp", "b", "l", "dim"], lambda mp, b, l, dim: (F.gelu, [normal(l, b, 4 * dim // mp)])),
    "RoPE": (["mp", "b", "h", "l", "dim"], rope),
    "flash_atten": (["mp", "b", "h", "l", "dim"], attention),
    "fillmask": (["mp", "b", "h", "l", "dim"], mask),
    "baddbmm": (["mp", "b", "h", "l", "dim"], scores),
    "bmm": (["mp", "b", "h", "l", "dim"], lambda mp, b, h, l, dim: (torch.bmm, [normal(b * (h // mp), l, l), normal(b * (h // mp), l, dim // h)])),
    "softmax": (["mp", "b", "h", "l"], lambda mp, b, h, l: (lambda x: F.softmax(x, -1), [normal(b, h // mp, l, l)])),
    "attention_dropout": (["mp", "b", "h", "l"], lambda mp, b, h, l: (lambda x: F.dropout(x, 0.1), [normal(b, h // mp, l, l)])),
    "parallel_cross_entropy_128": (["mp", "b", "l"], loss),
    "qkv": (["mp", "b", "l", "dim", "h", "kv_heads"], lambda mp, b, l, dim, h, kv_heads: linear(l * b, dim, (dim + 2 * dim * kv_heads // h) // mp)),
    "gate_up": (["mp", "b", "l", "dim", "ffn"], lambda mp, b, l, dim, ffn: linear(l * b, dim, 2 * ffn // mp)),
    "swiglu": (["mp", "b", "l", "ffn"], lambda mp, b, l, ffn: swiglu(b * l, ffn // mp)),
    "down": (["mp", "b", "l", "dim", "ffn"], lambda mp, b, l, dim, ffn: linear(l * b, ffn // mp, dim)),
    "router": (["b", "l", "dim", "experts"], lambda b, l, dim, experts: linear(l * b, dim, experts)),
    "expert_gate_up": (["mp", "b", "l", "dim", "ffn", "experts", "top_k", "ep"], lambda mp, b, l, dim, ffn, number, top_k, ep: experts(b, l, dim, 2 * ffn // mp, number, top_k, ep)),
    "expert_swiglu": (["mp", "b", "l", "ffn", "top_k"], lambda mp, b, l, ffn, top_k: swiglu(b * l * top_k, ffn // mp)),
    "expert_down": (["mp", "b", "l", "dim", "ffn", "experts", "top_k", "ep"], lambda mp, b, l, dim, ffn, number, top_k, ep: experts(b, l, ffn // mp, dim, number, top_k, ep)),
    "firstStage_optimizer": (["mp", "dim", "encoders"], None),
    "middleStage_optimizer": (["mp", "dim", "encoders"], None),
    "lastStage_optimizer": (["mp", "dim", "encoders"], None),
}


def usual(inputs):
    lists = {name: USUAL[name] for name in inputs if name in USUAL}
    has_width = any(name in inputs for name in ["dim", "h", "ffn"])
    for dim, heads in USUAL["width"] if has_width else [(0, 0)]:
        fixed = {"dim": dim, "h": heads, "ffn": 4 * dim}
        for values in itertools.product(*lists.values()):
            yield [{**fixed, **dict(zip(lists, values))}[name] for name in inputs]


def wait():
    if IS_GPU:
        torch.cuda.synchronize()


def timed(run):
    """The median time of a call in microseconds: of five rounds that take some milliseconds each."""
    def round_us(calls):
        if IS_GPU:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(calls):
                run()
            end.record()
            wait()
            return begin.elapsed_time(end) * 1e3 / calls
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        return (time.perf_counter() - begin) * 1e6 / calls

    run()
    wait()
    calls = max(2, min(20, int(3000 / max(round_us(1), 1.0))))
    return statistics.median(round_us(calls) for _ in range(5))


def optimizer_us(name, mp, dim, encoders):
    """Adam on single-precision weights, and the copy to those that compute."""
    sizes = [3 * dim * dim // mp] * (4 * encoders)
    if not name.startswith("middle"):
        sizes.append(vocabulary(mp) * dim)
    weights = [torch.randn(size, device=DEVICE).requires_grad_() for size in sizes]
    copies = [torch.empty(size, device=DEVICE, dtype=DTYPE) for size in sizes]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    adam = torch.optim.AdamW(weights, fused=IS_GPU)

    def step():
        adam.step()
        with torch.no_grad():
            torch._foreach_copy_(copies, weights)

    return [timed(step)]


def operator_us(name, inputs, make, point):
    if make is None:
        return optimizer_us(name, *point)
    function, arguments = make(*point)
    forward = timed(lambda: function(*arguments))
    if name == "res_add":
        return [forward, timed(lambda: torch.add(*(x.detach() for x in arguments)))]
    out = function(*arguments)
    slope = torch.ones_like(out)
    return [forward, timed(lambda: torch.autograd.grad(out, arguments, slope, retain_graph=True))]


def is_whole(point):
    return all(
        point[a] % point[b] == 0
        for a, b in [("dim", "h"), ("h", "mp"), ("dim", "mp"), ("ffn", "mp"), ("experts", "ep")]
        if a in point and b in point
    )


def write(folder, name, header, rows):
    folder = os.path.join(ARGUMENTS.out, folder)
    os.makedirs(folder, exist_ok=True)
    gpu = torch.cuda.get_device_name(DEVICE) if IS_GPU else "CPU"
    path = os.path.join(folder, f"{gpu.replace(' ', '').replace('_', '-')}_{name}.csv")
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(f"{path}: {len(rows)} rows")


def sample_operators():
    chosen = ARGUMENTS.operators.split(",") if ARGUMENTS.operators else list(WANTED or OPERATORS)
    unknown = [name for name in chosen if name not in OPERATORS]
    if unknown:
        raise SystemExit(f"not known: {', '.join(unknown)}; known are {', '.join(OPERATORS)}")
    for name in chosen:
        inputs, make = OPERATORS[name]
        rows, too_large = [], 0
        for point in WANTED.get(name) or usual(inputs):
            if not is_whole(dict(zip(inputs, point))):
                continue
            try:
                times = operator_us(name, inputs, make, point)
                rows.append([*point, *(f"{us:.3f}" for us in times)])
            except torch.cuda.OutOfMemoryError:
                too_large += 1
            if IS_GPU:
                torch.cuda.empty_cache()
        times = ["dur(us)"] if make is None else ["F_dur(us)", "B_dur(us)"]
        write("operator", f"{name}_{ARGUMENTS.precision}", [*inputs, *times], rows)
        if too_large:
            print(f"  {too_large} points do not fit into the GPU's memory")


def sample_collectives():
    dist.init_process_group("nccl" if IS_GPU else "gloo")
    each = int(os.environ["LOCAL_WORLD_SIZE"])
    nodes = RANKS // each
    peer = each if nodes > 1 else 1
    free = torch.tensor([torch.cuda.mem_get_info()[0] if IS_GPU else 1 << 18], device=DEVICE)
    dist.all_reduce(free, dist.ReduceOp.MIN)
    # Elements of 2 bytes in at most four buffers.
    most = int(free.item()) // 8
    small, large = ([1 << power for power in powers if 1 << power <= most] for powers in [range(14, 28), range(27, 31)])

    def buffer(elements):
        return torch.zeros(elements, device=DEVICE, dtype=DTYPE)

    def all_reduce(elements):
        data = buffer(elements)
        return lambda: dist.all_reduce(data)

    def all_gather(elements):
        own, all_of_them = buffer(elements), buffer(elements * RANKS)
        return lambda: dist.all_gather_into_tensor(all_of_them, own)

    def all_to_all(elements):
        sent, received = buffer(elements // RANKS * RANKS), buffer(elements // RANKS * RANKS)
        return lambda: dist.all_to_all_single(received, sent)

    def send(elements):
        data = buffer(elements)
        calls = {0: lambda: dist.send(data, peer), peer: lambda: dist.recv(data, 0)}
        return calls.get(RANK, lambda: None)

    for name, sizes, make, shape in [
        ("allreduce", small, all_reduce, (nodes, each)),
        ("allreduce_large", large, all_reduce, (nodes, each)),
        ("allgather_large", [size // RANKS for size in small[4:] + large], all_gather, (nodes, each)),
        ("alltoall", small if IS_GPU else [], all_to_all, (nodes, each)),
        ("p2p", small, send, (2, 1) if nodes > 1 else (1, 2)),
    ]:
        rows = []
        for elements in sizes:
            run = make(elements)
            run()
            wait()
            rounds = []
            for _ in range(5):
                dist.barrier()
                wait()
                begin = time.perf_counter()
                for _ in range(5):
                    run()
                wait()
                rounds.append((time.perf_counter() - begin) * 1e6 / 5)
            rows.append([elements, *shape, f"{statistics.median(rounds):.3f}"])
        if RANK == 0 and rows:
            write("nccl", f"{name}_{ARGUMENTS.precision}_{shape[0]}_{shape[1]}", ["shape", "nodes", "GPUsPerNode", "dur(us)"], rows)
    dist.destroy_process_group()


if __name__ == "__main__":
    if IS_GPU:
        torch.cuda.set_device(DEVICE)
    sample_collectives() if RANKS > 1 else sample_operators()
