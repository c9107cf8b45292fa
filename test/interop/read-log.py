# Reads a log by storage/FORMAT.md alone: `python3 read-log.py PARTITION_DIRECTORY` prints its records, a JSON object a
# line, every checksum verified. It knows nothing of the program that wrote them; MessagePack is PyPI's msgpack.
import glob, json, os, struct, sys
import msgpack

TABLE = list(range(256))
for _ in range(8):
    TABLE = [crc >> 1 ^ (0x82F63B78 if crc & 1 else 0) for crc in TABLE]

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF

def batches(data, end_offset):
    """Whole, right batches below end_offset, with attributes, record count and producer."""
    at = 0
    while at + 78 <= len(data) and data[at + 16] == 0xC1:
        base, version, checksum, attributes, count, size = struct.unpack_from(">Q9xBIHII", data, at)
        batch = data[at : at + size]
        if len(batch) < max(size, 78) or crc32c(batch[:18] + batch[22:]) != checksum or base >= end_offset:
            return
        assert version == 1, "written in a newer format than this program reads"
        yield batch, attributes, count, struct.unpack_from(">qhi", batch, 56)
        at += size

def frame(data, at):
    """Offset, metadata, protocol data and data of a frame, and where the next one begins."""
    offset, total, length = struct.unpack_from(">QII", data, at)
    parts, next_at = [], at + 12
    for _ in range(3):
        (length,) = struct.unpack_from(">I", data, next_at)
        parts.append(data[next_at + 4 : next_at + 4 + length])
        next_at += 4 + length
    assert next_at == at + 24 + total, "total_len is the sum of the three lengths"
    return offset, *parts, next_at

shown = lambda data: None if data is None else {"hex": data.hex()}
pairs = lambda flat: [[name, shown(value)] for name, value in zip(flat[::2], flat[1::2])]

files = sorted(glob.glob(os.path.join(sys.argv[1], "????????-" + "?" * 20 + ".log")), key=lambda path: path[-24:])
manifest = os.path.join(sys.argv[1], "manifest.json")
start = json.load(open(manifest))["logStartOffset"] if os.path.exists(manifest) else 0
ends = [int(path[-24:-4]) for path in files[1:]] + [2**63]
for path, end_offset in zip(files, ends):
    for batch, attributes, count, producer in batches(open(path, "rb").read(), end_offset):
        at = 78
        for _ in range(count):
            offset, metadata, protocol_data, value, at = frame(batch, at)
            flags, timestamp, key, headers = msgpack.unpackb(metadata)
            record = {"offset": offset, "timestampMs": timestamp, "key": shown(key), "headers": pairs(headers)}
            record["sourceAttributes"] = pairs(msgpack.unpackb(protocol_data)) if protocol_data else []
            record["value"] = None if flags & 1 else shown(value)
            record["batch"] = [attributes, *producer]
            if offset >= start:
                print(json.dumps(record))
