"""Lists of zarr, unpacked here: the values that zarr reads, or an error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genesieve.core.cells.packed import Packed, packed

zarr = pytest.importorskip("zarr", minversion="3")
codecs = pytest.importorskip("zarr.codecs")

VALUES = np.random.default_rng(0).poisson(0.3, 1000).astype(np.float32)
CHUNK, SHARD = 64, 256
PACKINGS = {
    "blosc": codecs.BloscCodec(cname="lz4", shuffle="bitshuffle"),
    "zstd": codecs.ZstdCodec(level=0),
    "gzip": codecs.GzipCodec(),
}


def stored(folder, values=VALUES, *, packing="blosc", shards=None, **options):
    """An array of zarr 3 in a folder."""
    options = {"compressors": PACKINGS[packing], "shards": shards, **options}
    array = zarr.create_array(str(folder / "X"), shape=values.shape, dtype=values.dtype, chunks=(CHUNK,), **options)
    array[:] = values
    return zarr.open_array(str(folder / "X"), mode="r")


def stored_by_version_2(folder):
    import numcodecs

    options = {"chunks": (CHUNK,), "zarr_format": 2, "compressors": numcodecs.Blosc()}
    array = zarr.create_array(str(folder / "X"), shape=VALUES.shape, dtype=VALUES.dtype, **options)
    array[:] = VALUES
    return zarr.open_array(str(folder / "X"), mode="r")


@pytest.fixture(
    scope="module", params=[(name, shards) for name in PACKINGS for shards in (None, (SHARD,))] + ["2"], ids=str
)
def array(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("array")
    if request.param == "2":
        return stored_by_version_2(folder)
    packing, shards = request.param
    return stored(folder, packing=packing, shards=shards)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_slices_are_those_that_zarr_reads(array, first, last):
    found = packed(array)
    assert isinstance(found, Packed)
    for again in range(2):  # the second time, parts of chunks are at hand
        got = found[first:last]
        np.testing.assert_array_equal(got, VALUES[first:last], err_msg=str(again))
        assert got.dtype == VALUES.dtype


@pytest.mark.parametrize("shards", [None, (SHARD,)], ids=["chunks", "shards"])
def test_chunks_that_were_never_written_hold_the_fill_value(tmp_path, shards):
    values = np.full(1000, 3.0, np.float32)
    values[300:310] = 1.0
    array = stored(tmp_path, values, shards=shards, fill_value=3.0)
    assert len(list((tmp_path / "X" / "c").iterdir())) < 1000 // CHUNK  # some are missing
    np.testing.assert_array_equal(packed(array)[:], values)


@pytest.mark.parametrize(
    "options",
    [
        {"compressors": None},
        {"compressors": [PACKINGS["zstd"], codecs.Crc32cCodec()]},
        {"serializer": codecs.BytesCodec(endian="big")},
    ],
    ids=["not packed", "with a checksum", "another byte order"],
)
def test_other_layouts_are_left_to_zarr(tmp_path, options):
    array = stored(tmp_path, **options)
    assert packed(array) is array


def test_other_stores_and_arrays_are_left_as_they_are():
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=(100,), dtype="f4", chunks=(10,))
    assert packed(array) is array
    assert packed(VALUES) is VALUES


@pytest.mark.parametrize("packing", list(PACKINGS))
@pytest.mark.parametrize("shards", [None, (SHARD,)], ids=["chunks", "shards"])
def test_damaged_files_raise(tmp_path, packing, shards):
    array = stored(tmp_path, packing=packing, shards=shards)
    file = tmp_path / "X" / "c" / "0"
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:8]):
        file.write_bytes(damaged)
        with pytest.raises(Exception, match=r".+"):
            packed(array)[:]
    if shards:
        for place in range(len(whole) - 4 - 16 * (SHARD // CHUNK), len(whole)):  # the index, and its checksum
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(ValueError, match="checksum"):
                packed(array)[:]


@pytest.mark.parametrize("packing", list(PACKINGS))
def test_chunks_of_another_size_raise(tmp_path, packing):
    array = stored(tmp_path, packing=packing)
    short = zarr.create_array(
        str(tmp_path / "short"), shape=(CHUNK // 2,), dtype="f4", chunks=(CHUNK // 2,), compressors=PACKINGS[packing]
    )
    short[:] = VALUES[: CHUNK // 2] + 1
    (tmp_path / "X" / "c" / "0").write_bytes((tmp_path / "short" / "c" / "0").read_bytes())
    with pytest.raises(ValueError, match=f"must hold {4 * CHUNK} bytes, got {2 * CHUNK}"):
        packed(array)[:]
