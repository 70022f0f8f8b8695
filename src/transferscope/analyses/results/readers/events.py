"""Scalars in an event file of TensorBoard, read without it: records of TFRecord, each an `Event` of protobuf.

A record is its length (8 bytes), a checksum of that, the event, and a checksum of it: CRC-32C, masked
(https://www.tensorflow.org/tutorials/load_data/tfrecord). Of an event are read wall_time (1), step (2) and summary (5),
whose values (1) have a tag (1) and a simple_value (2) or a tensor (8) of one number of 32 or 64 bits
(tensorboard/compat/proto).
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transferscope.errors import CorruptDataError
from transferscope.files import require_regular

_MOST_BYTES = 1 << 26
_TENSORS = {1: ("<f", 5), 2: ("<d", 6)}
"""Number format and field of values of a tensor, by type."""

Fields = dict[int, list[Any]]


def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
        table.append(crc)
    return table


_CRC = _table()


def masked_crc32c(data: bytes) -> int:
    """Return the checksum of a record: CRC-32C, rotated by 15 bits, plus a constant."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def scalars(path: Path) -> tuple[list[tuple[float, float, str, float]], bool]:
    """Return the time, step, tag and value of every scalar of a file, and whether the file is whole.

    A file of a run that was killed may end within a record.

    Raises:
        CorruptDataError: A checksum or an event is wrong.
    """
    require_regular(path, "an event file of TensorBoard")
    values: list[tuple[float, float, str, float]] = []
    with path.open("rb") as file:
        while head := file.read(12):
            if len(head) < 12:
                return values, False
            length, crc = struct.unpack("<QI", head)
            if masked_crc32c(head[:8]) != crc or length > _MOST_BYTES:
                raise CorruptDataError(f"{path} is not a TensorBoard event file, or damaged; expected whole records")
            event, end = file.read(length), file.read(4)
            if len(event) < length or len(end) < 4:
                return values, False
            try:
                own = list(_scalars(event))
            except (ValueError, IndexError, KeyError, TypeError, struct.error) as error:
                raise CorruptDataError(f"{path} holds an event that cannot be read; write it again") from error
            if own and struct.unpack("<I", end)[0] != masked_crc32c(event):
                raise CorruptDataError(f"{path} holds an event whose checksum is wrong; the file is damaged")
            values += own
    return values, True


def _scalars(event: bytes) -> Iterator[tuple[float, float, str, float]]:
    fields = _fields(event)
    time, step = fields.get(1, [0.0])[-1], fields.get(2, [0])[-1]
    for summary in fields.get(5, ()):
        for one in _fields(summary).get(1, ()):
            value = _fields(one)
            number = _number(value)
            if number is not None:
                yield struct.unpack("<d", time)[0] if time else 0.0, float(step), value[1][-1].decode(), number


def _number(value: Fields) -> float | None:
    if 2 in value:
        return float(struct.unpack("<f", value[2][-1])[0])
    tensor = _fields(value[8][-1]) if 8 in value else {}
    form, field = _TENSORS.get(tensor.get(1, [0])[-1], ("", 0))
    sizes = [size for shape in tensor.get(2, ()) for size in _fields(shape).get(2, ())]
    content = b"".join([*tensor.get(4, ()), *tensor.get(field, ())]) if form and not sizes else b""
    return float(struct.unpack(form, content)[0]) if form and len(content) == struct.calcsize(form) else None


def _fields(message: bytes) -> Fields:
    """Return the values of each field of a message: integers, or bytes."""
    fields: Fields = {}
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value: int | bytes
        if key & 7 == 0:
            value, at = _varint(message, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None and key & 7 == 2:
                size, at = _varint(message, at)
            if size is None or at + size > len(message):
                raise ValueError("a field is cut off")
            value, at = message[at : at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return (value - (1 << 64) if value >> 63 else value), at
        if shift > 63:
            raise ValueError("a number is too long")
