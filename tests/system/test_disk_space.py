"""Large temporary files go to a disk with room for them."""

import tempfile
from pathlib import Path

import pytest

from maxmargin.system import disk_space
from maxmargin.system.disk_space import folder_with_room, is_in_memory


def test_a_folder_with_room_is_that_of_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(disk_space, "is_in_memory", lambda folder: False)
    assert folder_with_room(1000) == tmp_path
    assert folder_with_room(1e30) is None


def test_a_folder_in_memory_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(disk_space, "is_in_memory", lambda folder: folder == tmp_path)
    assert folder_with_room(1000) in (Path("/var/tmp"), None)


@pytest.mark.skipif(not Path("/dev/shm").is_mount(), reason="no file system in memory here")
def test_file_systems_in_memory_are_recognised():
    assert is_in_memory(Path("/dev/shm"))
    assert not is_in_memory(Path("/proc"))
