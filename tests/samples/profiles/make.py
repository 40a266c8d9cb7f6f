"""Writes the same three simulated training steps of two ranks as four profilers would.

nsight.sqlite (nsys export --type sqlite; graphs.sqlite with
graphs that were traced as a whole, half.sqlite with ranges of rank 0 alone), rocpd3.db and rocpd4.db (rocprofv3 --output-format rocpd, schema 3 and 4, of
rank 0), and kineto.json (torch.profiler, of rank 0). Pages are small, so that trees have several levels and long texts
go on in pages of their own. Run it in its folder: python3 make.py
"""

import json
import os
import random
import sqlite3

STEP_NS, STEPS = 4_000_000, 3
THREAD = [(0x0001_0000_0A00 + rank) << 24 for rank in range(2)]
GEMM = "void cutlass::Kernel2<" + "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_tn_align8, " * 12 + ">(Params)"
NAMES = [
    GEMM,
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>>",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
]
EMBEDDING = "aten::embedding, op_id = {}, sizes = [[50304, 1024], [2, 512], [], [], []], input_op_ids = [(0,0)]"


def events(rank):
    """Kernels (name, start, end) and ranges (text, start, end) of a rank, in ns."""
    draw = random.Random(rank)
    kernels, ranges = [], []
    for step in range(STEPS):
        at = 1_000_000 + step * STEP_NS
        ranges.append((f"iteration {step}", at, at + STEP_NS - 1_000))
        for part in ("forward", "backward"):
            ranges.append((f"{part}_step {step}", at + 10_000, at + 1_500_000))
        ranges.append((EMBEDDING.format(step), at + 20_000, at + 40_000))
        begin = at + 50_000
        for kernel in range(40):
            length = draw.randrange(5_000, 60_000)
            kernels.append((NAMES[draw.choice([0, 0, 0, 1, 3])], begin, begin + length))
            begin += length + draw.randrange(0, 8_000)
            if kernel % 8 == 0:
                late = draw.randrange(-4_000, 30_000)
                kernels.append((NAMES[2], begin + late, begin + late + draw.randrange(20_000, 90_000)))
    return kernels, ranges


def database(name):
    if os.path.exists(name):
        os.remove(name)
    made = sqlite3.connect(name)
    made.execute("PRAGMA page_size = 512")
    return made


def nsight(name, graphs=False, marked=2):
    made = database(name)
    made.executescript(
        """
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
            -- CUPTI, of kernels (all) on a GPU.
            start INTEGER NOT NULL, -- Event start timestamp (ns).
            end INTEGER NOT NULL, -- Event end timestamp (ns).
            deviceId INTEGER NOT NULL,
            streamId INTEGER NOT NULL,
            correlationId INTEGER,
            globalPid INTEGER,
            demangledName INTEGER NOT NULL, -- REFERENCES StringIds(id), with templates
            shortName INTEGER NOT NULL -- REFERENCES StringIds(id)
        );
        CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
            color INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
        CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, smCount INTEGER);
        """
    )
    ids = {name: number for number, name in enumerate(NAMES, 1)}
    made.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, name) for name, number in ids.items()])
    for rank in range(2):
        made.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, ?, 'NVIDIA A100-SXM4-80GB', 108)", (rank,))
        kernels, ranges = events(rank)
        thread = THREAD[rank] + 7
        for name, start, end in kernels:
            row = (start, end, rank, 7, 0, THREAD[rank], ids[name], ids[name])
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?)", row)
        for place, (text, start, end) in enumerate(ranges if rank < marked else []):
            # Registered texts stand among the others.
            if place % 2:
                number = ids.setdefault(text, len(ids) + 1)
                made.execute("INSERT OR IGNORE INTO StringIds VALUES (?, ?)", (number, text))
                row = (start, end, 59, None, thread, number)
            else:
                row = (start, end, 59, text, thread, None)
            made.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,?,NULL,NULL,?,?,?,0)", row)
        # A mark at one time, and the name of a domain.
        made.execute("INSERT INTO NVTX_EVENTS VALUES (5, NULL, 34, NULL, NULL, 'step', ?, NULL, 0)", (thread,))
        made.execute("INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, NULL, NULL, 'NCCL', ?, NULL, 1)", (thread,))
    if graphs:
        made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER, graphId INTEGER)")
        made.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, 2000, 1)", [(0,), (1,), (2,)])
        made.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > 9")
        made.execute("DELETE FROM NVTX_EVENTS WHERE rowid > 9")
    made.commit()
    made.execute("VACUUM")


def rocpd(name, version):
    made = database(name)
    key = "_0000a1b2"
    times = '"start" BIGINT, "end" BIGINT' if version == 3 else '"start_id" INTEGER, "end_id" INTEGER'
    owner = '"pid" INTEGER, "tid" INTEGER, "agent_id" INTEGER' if version == 3 else '"track_id" INTEGER'
    made.executescript(
        f"""
        CREATE TABLE IF NOT EXISTS `rocpd_metadata{key}` ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "tag" TEXT);
        CREATE TABLE `rocpd_string{key}` ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            "guid" TEXT DEFAULT "a1b2" NOT NULL, "string" TEXT NOT NULL UNIQUE ON CONFLICT ABORT);
        CREATE TABLE `rocpd_info_agent{key}` ("id" INTEGER NOT NULL PRIMARY KEY, "type" TEXT CHECK ("type" IN
            ('CPU', 'GPU')), "name" TEXT, "product_name" TEXT);
        CREATE TABLE `rocpd_info_kernel_symbol{key}` ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            "kernel_name" TEXT, "display_name" TEXT, "extdata" JSONB DEFAULT "{{}}" NOT NULL);
        CREATE TABLE `rocpd_track{key}` ("id" INTEGER NOT NULL PRIMARY KEY, "pid" INTEGER, "agent_id" INTEGER);
        CREATE TABLE `rocpd_timestamp_of{key}` ("id" INTEGER NOT NULL PRIMARY KEY, "value" BIGINT);
        CREATE TABLE `rocpd_event{key}` ("id" INTEGER NOT NULL PRIMARY KEY, "category_id" INTEGER,
            "extdata" JSONB DEFAULT "{{}}" NOT NULL);
        CREATE TABLE `rocpd_kernel_dispatch{key}` ("id" INTEGER NOT NULL PRIMARY KEY, {owner},
            "kernel_id" INTEGER NOT NULL, {times},
            FOREIGN KEY (kernel_id) REFERENCES `rocpd_info_kernel_symbol{key}` (id) ON UPDATE CASCADE);
        CREATE TABLE `rocpd_region{key}` ("id" INTEGER NOT NULL PRIMARY KEY, {owner}, {times}, "name_id" INTEGER,
            "event_id" INTEGER);
        CREATE VIEW `rocpd_region` AS SELECT * FROM `rocpd_region{key}`;
        """
    )
    if version == 4:
        made.execute(f"ALTER TABLE `rocpd_timestamp_of{key}` RENAME TO `rocpd_timestamp{key}`")
    made.execute(f"INSERT INTO rocpd_string{key} (string) VALUES ('MARKER_CORE_RANGE_API')")
    made.execute(f"INSERT INTO rocpd_info_agent{key} VALUES (1, 'CPU', 'cpu', 'AMD EPYC')")
    made.execute(f"INSERT INTO rocpd_info_agent{key} VALUES (2, 'GPU', 'gfx942', 'AMD Instinct MI300X')")
    made.execute(f"INSERT INTO rocpd_track{key} VALUES (5, 1, 2)")
    ids = {name: number for number, name in enumerate(NAMES, 11)}
    for name, number in ids.items():
        row = (number, "_Z" + name[:20] + ".kd", name)
        made.execute(f"INSERT INTO rocpd_info_kernel_symbol{key} (id, kernel_name, display_name) VALUES (?,?,?)", row)
    stamps = 0

    def stamp(value):
        nonlocal stamps
        stamps += 1
        made.execute(f"INSERT INTO rocpd_timestamp{key} VALUES (?, ?)", (stamps, value))
        return stamps

    kernels, ranges = events(0)
    number = 0
    for name, start, end in kernels:
        number += 1
        row = (number, 1, 77, 2, ids[name], start, end) if version == 3 else (number, 5, ids[name], stamp(start), stamp(end))
        made.execute(f"INSERT INTO rocpd_kernel_dispatch{key} VALUES ({','.join('?' * len(row))})", row)
    for text, start, end in ranges:
        number += 1
        made.execute(f"INSERT INTO rocpd_event{key} VALUES (?, 1, ?)", (number, json.dumps({"message": text})))
        row = (number, 1, 77, None, start, end, 1, number) if version == 3 else (number, 5, stamp(start), stamp(end), 1, number)
        made.execute(f"INSERT INTO rocpd_region{key} VALUES ({','.join('?' * len(row))})", row)
    made.commit()


def kineto():
    kernels, ranges = events(0)

    def event(cat, name, start, end, args=None):
        return {"ph": "X", "cat": cat, "name": name, "ts": start / 1e3, "dur": (end - start) / 1e3, "args": args or {}}

    out = [event("kernel", name, start, end) for name, start, end in kernels]
    dims = {"Input Dims": [[50304, 1024], [2, 512], [], [], []]}
    for text, start, end in ranges:
        if text.startswith("iteration"):
            out.append(event("user_annotation", "ProfilerStep#" + text.split()[1], start, end))
        elif text.startswith("aten::embedding"):
            out.append(event("cpu_op", "aten::embedding", start, end, dims))
    with open("kineto.json", "w") as file:
        json.dump({"traceEvents": out}, file, separators=(",", ":"))


nsight("nsight.sqlite")
nsight("graphs.sqlite", graphs=True)
nsight("half.sqlite", marked=1)
rocpd("rocpd3.db", 3)
rocpd("rocpd4.db", 4)
kineto()
