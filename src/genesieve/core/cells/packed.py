"""Lists of packed values in zarr, unpacked to where they are wanted.

zarr reads any array from any place. For a list in local files that takes up to three times as long as the unpacking:
chunks wait in an event loop, and are copied once more. So lists as AnnData writes them, in chunks or in shards, are
unpacked here, by the same codecs; any other is left to zarr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

# Codecs that need to know nothing but what they have packed.
CODECS = ("blosc", "gzip", "zstd")
# The head of a chunk that blosc has packed, and where in it its unpacked size is.
BLOSC_HEAD, BLOSC_SIZE = 16, slice(4, 8)
# A shard ends with the place and size of each of its chunks, and a checksum of these; chunks that hold nothing but the
# fill value are missing.
INDEX_TYPE, CHECKSUM_BYTES, MISSING = np.dtype("<u8"), 4, np.iinfo(np.uint64).max
INDEX_CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


@dataclass(eq=False)
class Packed:
    """A one-dimensional zarr array in local files; slices of it are arrays."""

    shape: tuple[int]
    dtype: np.dtype[Any]
    chunks: tuple[int]
    compressors: tuple[Any]  # the one that unpacks a chunk
    fill_value: Any
    file_of: Callable[[int], Path]  # of a shard, or of a chunk where there are none
    chunks_a_shard: int  # 0 where there are none
    # What the next slice is likely to want again; replaced as a whole, so that threads may share them.
    _last: tuple[int, np.ndarray] | None = field(default=None, init=False)
    _index: tuple[int, np.ndarray] | None = field(default=None, init=False)

    def __getitem__(self, wanted: slice) -> np.ndarray:
        first, last, _ = wanted.indices(self.shape[0])
        values, size = np.empty(max(last - first, 0), self.dtype), self.chunks[0]
        for number in range(first // size, -(-last // size)):
            start = number * size
            low, high = max(first, start), min(last, start + size)
            part = values[low - first : high - first]
            if len(part) == size:
                self._unpack(number, part)
            else:
                part[:] = self._whole(number)[low - start : high - start]
        return values

    def _whole(self, number: int) -> np.ndarray:
        """A chunk, kept for the next slice, which is likely to go on in it."""
        last = self._last
        if last is None or last[0] != number:
            last = (number, np.empty(self.chunks[0], self.dtype))
            self._unpack(*last)
            self._last = last
        return last[1]

    def _unpack(self, number: int, values: np.ndarray) -> None:
        packed, codec = self._packed(number), self.compressors[0]
        if packed is None:
            values[:] = self.fill_value
        elif codec.codec_id == "blosc" and _blosc_size(packed) == values.nbytes:
            codec.decode(packed, out=values)
        else:
            found = codec.decode(packed)
            if len(found) != values.nbytes:
                raise ValueError(f"a chunk must hold {values.nbytes} bytes, got {len(found)}")
            values[:] = np.frombuffer(found, self.dtype)

    def _packed(self, number: int) -> bytes | None:
        """The bytes of a chunk, None where it or its shard is missing."""
        try:
            if not self.chunks_a_shard:
                return self.file_of(number).read_bytes()
            shard, place = divmod(number, self.chunks_a_shard)
            offset, size = self._index_of(shard)[place].tolist()
            if offset == MISSING:
                return None
            with self.file_of(shard).open("rb") as file:
                file.seek(offset)
                return file.read(size)
        except FileNotFoundError:
            return None

    def _index_of(self, shard: int) -> np.ndarray:
        """Places and sizes (chunks, 2) of the chunks of a shard."""
        index = self._index
        if index is None or index[0] != shard:
            index = self._index = (shard, self._read_index(self.file_of(shard)))
        return index[1]

    def _read_index(self, file: Path) -> np.ndarray:
        size = 2 * INDEX_TYPE.itemsize * self.chunks_a_shard
        with file.open("rb") as shard:
            length = shard.seek(0, 2)
            shard.seek(max(length - size - CHECKSUM_BYTES, 0))
            found, checksum = shard.read(size), shard.read()
        if len(found) < size or _checksum(found) != int.from_bytes(checksum, "little"):
            raise ValueError("the index of a shard must have the checksum that it was written with")
        index = np.frombuffer(found, INDEX_TYPE).reshape(-1, 2)
        ends = index[index[:, 0] != MISSING].astype(float).sum(axis=1)
        if (ends > length).any():
            raise ValueError(f"a shard must hold all of its chunks, got {length} bytes")
        return index


def packed(array: Any) -> Any:
    """A list of HDF5 or zarr; of zarr as `Packed` where it is one."""
    with suppress(Exception):  # whatever is not as expected is left to zarr, and that of zarr 2 has no such metadata
        layout = array.metadata.to_dict()
        if type(array.store).__name__ == "LocalStore" and len(array.shape) == 1:
            size, codec, chunks_a_shard = _layout_of(layout, array.chunks[0], array.dtype)
            folder = Path(array.store.root) / array.path
            key = array.metadata.encode_chunk_key
            return Packed(
                shape=(int(array.shape[0]),),
                dtype=np.dtype(array.dtype),
                chunks=(size,),
                compressors=(codec,),
                fill_value=0 if array.fill_value is None else array.fill_value,
                file_of=lambda number: folder / key((number,)),
                chunks_a_shard=chunks_a_shard,
            )
    return array


def _layout_of(layout: dict[str, Any], size: int, dtype: np.dtype[Any]) -> tuple[int, Any, int]:
    """Values of a chunk, the codec that unpacks it, and chunks of a shard, 0 for none; raises for other layouts."""
    _expect(np.dtype(dtype).newbyteorder("<") == np.dtype(dtype) and np.dtype(dtype).kind in "biuf")
    if layout["zarr_format"] == 2:
        _expect(not layout["filters"])
        return size, _codec(layout["compressor"]["id"]), 0
    codecs = _plain(layout["codecs"])
    _expect(layout["chunk_grid"]["name"] == "regular" and not layout["storage_transformers"])
    if codecs[0]["name"] != "sharding_indexed":
        return size, _only_codec(codecs), 0
    shard, (sharding,) = layout["chunk_grid"]["configuration"]["chunk_shape"][0], codecs
    how = sharding["configuration"]
    _expect(how["index_location"] == "end" and how["index_codecs"] == INDEX_CODECS)
    _checksum(b"")  # where it cannot be computed, zarr has its own
    return size, _only_codec(how["codecs"]), shard // size


def _only_codec(codecs: Sequence[dict[str, Any]]) -> Any:
    """The codec of values that are little-endian and packed, and nothing else."""
    as_bytes, packing = codecs
    _expect(as_bytes["name"] == "bytes" and as_bytes.get("configuration", {}).get("endian", "little") == "little")
    return _codec(packing["name"])


def _codec(name: str) -> Any:
    _expect(name in CODECS)
    return import_module("numcodecs").get_codec({"id": name})  # zarr needs it, so it is there


def _checksum(found: bytes) -> int:
    return int(import_module("google_crc32c").value(found))  # likewise


def _plain(codecs: Any) -> Any:
    """Lists in place of tuples, all the way down."""
    if isinstance(codecs, dict):
        return {name: _plain(value) for name, value in codecs.items()}
    return [_plain(codec) for codec in codecs] if isinstance(codecs, list | tuple) else codecs


def _blosc_size(packed: bytes) -> int:
    return int.from_bytes(packed[BLOSC_SIZE], "little") if len(packed) >= BLOSC_HEAD else 0


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("another layout")
