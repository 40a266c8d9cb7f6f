"""What sample.py asks of PyTorch, without computing: each tensor is any other, and each call takes 10 µs."""
import sys
import types


class Tensor:
    grad = None
    dtype = None

    def __getattr__(self, name):
        return lambda *arguments, **options: self

    def __mul__(self, other):
        return self

    __add__ = __mul__

    def __neg__(self):
        return self

    def chunk(self, parts, dim):
        return [self] * parts

    def item(self):
        return 1 << 20


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *why):
        return False


class Event:
    def __init__(self, enable_timing):
        pass

    def record(self):
        pass

    def elapsed_time(self, end):
        return 0.01


def module(name, **members):
    made = types.ModuleType(name)
    made.__getattr__ = lambda member: lambda *arguments, **options: Tensor()
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


cuda = module(
    "torch.cuda", OutOfMemoryError=MemoryError, Event=Event, synchronize=lambda: None,
    get_device_name=lambda device: "STUB", mem_get_info=lambda: (1 << 20, 1 << 20),
)
nn = module("torch.nn", functional=module("torch.nn.functional"))
distributed = module("torch.distributed", ReduceOp=module("torch.distributed.ReduceOp"))
optim = module("torch.optim")
autograd = module("torch.autograd")
bfloat16 = float16 = int64 = "half"


def device(*name):
    return name


def no_grad():
    return Nothing()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *arguments, **options: Tensor()
