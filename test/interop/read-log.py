# Reads a log by storage/FORMAT.md alone: `python3 read-log.py PARTITION_DIRECTORY` prints its records, a JSON object a
# line, every checksum verified. It knows nothing of the program that wrote them; MessagePack is PyPI's msgpack.
import functools, glob, json, os, struct, sys
import msgpack

TABLE = list(range(256))
for _ in range(8):
    TABLE = [crc >> 1 ^ (0x82F63B78 if crc & 1 else 0) for crc in TABLE]
def crc32c(data):
    return functools.reduce(lambda crc, byte: crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF], data, 0xFFFFFFFF) ^ 0xFFFFFFFF

def batches(data, end_offset):  # the whole, right ones below end_offset
    at = 0
    while at + 78 <= len(data) and data[at + 16] == 0xC1:
        base, version, checksum, attributes, count, size = struct.unpack_from(">Q9xBIHII", data, at)
        batch = data[at : at + size]
        if len(batch) < max(size, 78) or crc32c(batch[:18] + batch[22:]) != checksum or base >= end_offset:
            return
        assert version == 1, "written in a newer format than this program reads"
        yield batch, count, [attributes, *struct.unpack_from(">qhi", batch, 56)]
        at += size

shown = lambda data: None if data is None else {"hex": data.hex()}
pairs = lambda flat: [[name, shown(value)] for name, value in zip(flat[::2], flat[1::2])]
files = sorted(glob.glob(os.path.join(sys.argv[1], "????????-" + "?" * 20 + ".log")), key=lambda path: path[-24:])
manifest = os.path.join(sys.argv[1], "manifest.json")
start = json.load(open(manifest))["logStartOffset"] if os.path.exists(manifest) else 0
for path, end_offset in zip(files, [int(path[-24:-4]) for path in files[1:]] + [2**63]):
    for batch, count, about in batches(open(path, "rb").read(), end_offset):
        at = 78
        for _ in range(count):
            offset, parts, at = int.from_bytes(batch[at : at + 8], "big"), [], at + 12
            for _ in ("metadata", "protocol_data", "data"):
                parts.append(batch[at + 4 : at + 4 + int.from_bytes(batch[at : at + 4], "big")])
                at += 4 + len(parts[-1])
            (flags, timestamp, key, headers), protocol_data, value = msgpack.unpackb(parts[0]), *parts[1:]
            if offset >= start:
                print(json.dumps({"offset": offset, "timestampMs": timestamp, "key": shown(key), "headers": pairs(headers),
                    "sourceAttributes": pairs(msgpack.unpackb(protocol_data)) if protocol_data else [],
                    "value": None if flags & 1 else shown(value), "batch": about}))
